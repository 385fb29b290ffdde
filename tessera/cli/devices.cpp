// SPDX-License-Identifier: Apache-2.0
// `tessera devices`: this machine's devices, their peak rates, and the reasons for missing ones.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include "tessera/cli/command.hpp"
#include "tessera/cli/output.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/option_parser.hpp"
#include "tessera/bench/ceilings.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"

namespace tessera::cli {
namespace {

using Align = report::Table::Align;
using Json = nlohmann::ordered_json;

constexpr const char* about_devices =
    "The devices of this machine.\n\n"
    "GB/s, GFLOP/s  what a copy and multiply-adds reach at most, measured on the device by --measure, or by "
    "the\n"
    "               first bench, and remembered for its name and driver, with the date\n\n"
    "A part of a GPU's multiprocessors is a device as well: cuda:0:sms=44 has the first 44, "
    "cuda:0:sms=44-131\n"
    "those; in a list, parts that are named by their size lie one after another.";

struct Found {
  Device device;
  std::optional<bench::MeasuredCeilings> measured;
  std::optional<Ceilings> ceilings = measured ? std::optional(measured->rates) : std::nullopt;
};

enum class Measuring { none, keeping_the_better, anew };

void measure(const Device& device, Measuring how) {
  bench::MeasuredCeilings now = bench::measure_ceilings(device);
  if (now.empty()) return;
  if (how == Measuring::keeping_the_better)
    if (const auto known = bench::known_ceilings(device)) now = bench::better_of(*known, now);
  if (const std::string why = bench::remember(device, now); !why.empty())
    warn({"what was measured cannot be remembered: " + why});
}

std::vector<Found> found(const std::string& named, Measuring how) {
  std::vector<Found> out;
  for (const Device& device : devices_named(named.empty() ? "all" : named)) {
    if (how != Measuring::none) measure(device, how);
    out.push_back({device, bench::known_ceilings(device)});
  }
  return out;
}

// Returns the GPUs among them.
std::vector<Device> gpus_of(const std::vector<Found>& all) {
  std::vector<Device> out;
  for (const Found& one : all)
    if (one.device.where == Where::cuda) out.push_back(one.device);
  return out;
}

// Measures, or recalls, the rates of copies of all GPUs together.
std::optional<LinkRates> links_of(const std::vector<Device>& gpus, Measuring how) {
  if (how == Measuring::none) return bench::known_links(gpus);
  const auto rates = bench::measure_links(gpus);
  if (rates)
    if (const std::string why = bench::remember(gpus, *rates); !why.empty())
      warn({"what was measured cannot be remembered: " + why});
  return rates;
}

std::string links_text(const LinkRates& rates, std::size_t gpus) {
  const auto gb = [](double rate) { return report::number(rate * 1e-9); };
  return fmt::format("copies, GB/s: to a GPU {}, from it {}, rows of 8 KiB {}, all links together {}{}\n",
                     gb(rates.to_device), gb(rates.from_device), gb(rates.short_rows), gb(rates.host),
                     gpus < 2            ? ""
                     : rates.between > 0 ? ", from GPU to GPU " + gb(rates.between)
                                         : "; from GPU to GPU not faster");
}

// Returns "2030-01-31"
std::string when(const std::optional<bench::MeasuredCeilings>& measured) {
  return !measured || measured->empty() ? "" : measured->date.substr(0, measured->date.find('T'));
}

std::string rate(const std::optional<Ceilings>& ceilings, Element element) {
  if (!ceilings || !ceilings->flops_per_second.contains(element)) return {};
  return report::number(ceilings->flops_per_second.at(element) * 1e-9);
}

std::vector<std::string> row_of(const Found& found) {
  const auto& [device, measured, ceilings] = found;
  const bool gpu = device.where == Where::cuda;
  return {device.label(),
          device.name,
          gpu ? fmt::format("{} multiprocessors", device.multiprocessors)
              : fmt::format("{} threads", device.threads),
          report::bytes(device.memory_bytes),
          device.cache_bytes > 0 ? report::bytes(device.cache_bytes) : "",
          device.where == Where::cpu ? "-" : report::bytes(device.max_shared_bytes),
          gpu ? fmt::format("{}.{}", device.compute_capability / 10, device.compute_capability % 10) : "-",
          ceilings && ceilings->bytes_per_second ? report::number(*ceilings->bytes_per_second * 1e-9) : "",
          rate(ceilings, Element::f32),
          rate(ceilings, Element::f64),
          rate(ceilings, Element::i32),
          when(measured),
          gpu ? device.driver : "-"};
}

std::string table_of(const std::vector<Found>& all) {
  report::Table table({{"device", Align::left},
                       {"name", Align::left},
                       {"parallel", Align::left},
                       {"memory"},
                       {"last cache"},
                       {"block memory"},
                       {"capability"},
                       {"copy, GB/s", Align::right, true},
                       {"f32, GFLOP/s", Align::right, true},
                       {"f64", Align::right, true},
                       {"i32", Align::right, true},
                       {"measured", Align::left},
                       {"driver", Align::left}});
  for (const Found& one : all) table.add(row_of(one));
  return table.text();
}

Json json_of(const Command& command, const std::vector<Found>& all, const std::optional<LinkRates>& links) {
  Json out = json_head(command, "devices");
  out["rows"] = Json::array();
  for (const auto& [device, measured, ceilings] : all) {
    out["rows"].push_back(bench::to_json(device));
    Json& known = out["rows"].back()["ceilings"] = ceilings ? bench::to_json(*ceilings) : Json(nullptr);
    if (measured) known["measured"] = measured->date;
  }
  if (links)
    out["links"] = {{"to_device", links->to_device},
                    {"from_device", links->from_device},
                    {"short_rows", links->short_rows},
                    {"host", links->host},
                    {"between", links->between}};
  return out;
}

}  // namespace

int devices(const Command& command) {
  bool measure = false, anew = false;
  std::string named, json;
  OptionParser words("devices", "tessera devices [FLAGS]", about_devices);
  words.flag("--measure", measure,
             "measure what each can do at most, and remember the better of that and what is known");
  words.flag("--anew", anew,
             "measure, and forget what was known: of another machine under the same name, or after a change");
  words.value("--device,--devices", named, "only these", "LIST");
  words.value("--json", json, "the devices; - is standard output", "FILE");
  if (!words.read(command.words)) return exit_code::passed;
  const Measuring how = anew ? Measuring::anew : measure ? Measuring::keeping_the_better : Measuring::none;
  const std::vector<Found> all = found(named, how);
  const std::vector<Device> gpus = gpus_of(all);
  const auto links = links_of(gpus, how);
  std::string missing;
  for (const Where where : {Where::cpu, Where::simt, Where::cuda})
    if (const Reason reason = unusable(where))
      missing += fmt::format("{} is not usable: {}\n", name_of(where), *reason);
  fmt::print(table_stream(json), "{}{}{}{}", table_of(all), links ? links_text(*links, gpus.size()) : "",
             missing.empty() ? "" : "\n", missing);
  write_json(json, json_of(command, all, links));
  return exit_code::passed;
}

}  // namespace tessera::cli
