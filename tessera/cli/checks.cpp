// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/checks.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <string>
#include "tessera/lab/result.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/finding_json.hpp"

namespace tessera::cli {
namespace {

struct Totals {
  std::size_t settled = 0, by_host = 0;
  double checks = 0, products = 0, host = 0;
};

Totals totals_of(const Together& together) {
  Totals out;
  for (const Share& share : together.shares) {
    out.settled += share.settled;
    out.by_host += share.host_checks;
    out.checks += share.check_seconds;
    out.products += share.product_seconds;
    out.host += share.host_check_seconds;
  }
  return out;
}

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

void print_checks(std::FILE* to, const Together& together) {
  const Totals all = totals_of(together);
  if (all.settled > 0)
    fmt::print(to, "checksums of {}: {} beside {} of computing, {:.1f} %\n", parts(all.settled),
               seconds(all.checks), seconds(all.products),
               all.products > 0 ? 100 * all.checks / all.products : 0);
  if (all.by_host > 0)
    fmt::print(to, "checked by this machine's processors: {}, {}\n", parts(all.by_host), seconds(all.host));
  for (std::size_t d = 0; d < together.shares.size(); ++d)
    for (const auto& [tile, finding] : together.shares[d].findings)
      fmt::print(to, "{} (device {}), part {}: {}\n", lab::label_of(together.shares[d].plan.device), d,
                 tile + 1, told(finding));
}

nlohmann::ordered_json checks_json(const Together& together) {
  const Totals all = totals_of(together);
  if (all.settled + all.by_host == 0) return nullptr;
  nlohmann::ordered_json found = nlohmann::ordered_json::array();
  for (std::size_t d = 0; d < together.shares.size(); ++d)
    for (const auto& [tile, finding] : together.shares[d].findings) {
      found.push_back({{"device", d}, {"part", tile + 1}});
      found.back().update(to_json(finding));
    }
  return {{"parts_by_checksums", all.settled}, {"check_seconds", all.checks},
          {"product_seconds", all.products},   {"parts_by_host", all.by_host},
          {"host_check_seconds", all.host},    {"found", found}};
}

}  // namespace tessera::cli
