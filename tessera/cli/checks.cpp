// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/checks.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <string>
#include "tessera/bench/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/finding_json.hpp"

namespace tessera::cli {
namespace {

std::string seconds(double value) {
  std::string out = report::seconds(value);
  out.erase(0, out.find_first_not_of(' '));
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

std::string parts(std::size_t count) { return std::to_string(count) + (count == 1 ? " part" : " parts"); }

std::string told(const Finding& finding) {
  using Mended = Finding::Mended;
  std::string out = finding.element.empty()
                        ? fmt::format("{} rows and {} columns did not fit", finding.rows, finding.cols)
                        : fmt::format("element [{}] did not fit", fmt::join(finding.element, ","));
  if (finding.mended == Mended::element) out += ", and was corrected";
  if (finding.mended == Mended::part) out += ", the part was computed again";
  if (!finding.settled) return out + ", and the processors looked at it";
  return finding.right ? out : out + ", in vain";
}

}  // namespace

Checks checks_of(const Together& together) {
  Checks out;
  add_checks(out, {}, together, 0, [](const Device& device) { return bench::label_of(device); });
  return out;
}

void print_checks(std::FILE* to, const Checks& checks, const std::string& whose) {
  if (checks.settled > 0)
    fmt::print(to, "{}checksums of {}: {} beside {} of computing, {:.1f} %\n", whose, parts(checks.settled),
               seconds(checks.check_seconds), seconds(checks.product_seconds),
               checks.product_seconds > 0 ? 100 * checks.check_seconds / checks.product_seconds : 0);
  if (checks.by_host > 0)
    fmt::print(to, "{}checked by this machine's processors: {}, {}\n", whose, parts(checks.by_host),
               seconds(checks.host_seconds));
  for (const Checks::Found& f : checks.found)
    fmt::print(to, "{}{} (device {}), {}part {}: {}\n", whose, f.device, f.place,
               f.panel == 0 ? "" : "panel " + std::to_string(f.panel) + ", ", f.tile + 1, told(f.finding));
}

nlohmann::ordered_json checks_json(const Checks& checks) {
  if (!checks.any()) return nullptr;
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (const Checks::Found& f : checks.found) {
    found.push_back({{"device", f.place}, {"part", f.tile + 1}});
    if (f.panel != 0) found.back()["panel"] = f.panel;
    found.back().update(to_json(f.finding));
  }
  return {{"parts_by_checksums", checks.settled},      {"check_seconds", checks.check_seconds},
          {"product_seconds", checks.product_seconds}, {"parts_by_host", checks.by_host},
          {"host_check_seconds", checks.host_seconds}, {"found", found}};
}

}  // namespace tessera::cli
