// SPDX-License-Identifier: Apache-2.0
// `tessera devices`: what this machine offers, and why something is missing.
#include <fmt/format.h>
#include "tessera/cli/command.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/words.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

using Align = report::Table::Align;

std::vector<std::string> row_of(const Device& device) {
  const bool gpu = device.where == Where::cuda;
  return {
      device.label(),
      device.name,
      gpu ? fmt::format("{} multiprocessors", device.processors) : fmt::format("{} threads", device.threads),
      report::bytes(device.memory_bytes),
      device.cache_bytes > 0 ? report::bytes(device.cache_bytes) : "",
      device.where == Where::cpu ? "-" : report::bytes(device.max_shared_bytes),
      gpu ? fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10) : "-",
      gpu ? device.driver : "-"};
}

}  // namespace

int devices(const Command& command) {
  Words words("devices", "tessera devices", "What this machine offers to run on.");
  words.closing(exit_codes);
  if (!words.read(command.words)) return fmt::print("{}\n", words.help()), exit_code::passed;
  report::Table table({{"device", Align::left},
                       {"name", Align::left},
                       {"parallel", Align::left},
                       {"memory"},
                       {"last cache"},
                       {"block memory"},
                       {"capability"},
                       {"driver", Align::left}});
  std::string missing;
  for (const Where where : {Where::cpu, Where::simt, Where::cuda}) {
    if (const Reason reason = unusable(where))
      missing += fmt::format("{} is not usable: {}\n", name_of(where), *reason);
    else
      for (const Device& device : find_backend(where)->devices()) table.add(row_of(device));
  }
  fmt::print("{}", table.text());
  if (!missing.empty()) fmt::print("\n{}", missing);
  return exit_code::passed;
}

}  // namespace tessera::cli
