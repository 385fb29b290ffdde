// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/ladder_table.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/row_words.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using bench::Row;
using Align = Table::Align;

std::string tuning_of(const Row& row) { return row.tuning.empty() ? "-" : to_string(row.tuning); }

std::string verdict(const Row& row) {
  switch (row.verified) {
    case bench::Verified::ok:
      return "ok";
    case bench::Verified::wrong:
      return "WRONG";
    case bench::Verified::unchecked:
      break;
  }
  return "-";
}

std::string roofline_of(const Row& row) {
  const auto roofline = row.roofline();
  return roofline
             ? fmt::format("{:.1f} % of {}", 100 * roofline->fraction, roofline->memory ? "copy" : "arith.")
             : "";
}

std::string rounded(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : ""; }
std::string ratio(std::optional<double> value) { return number(value); }

std::vector<std::string> cells_of(const Row& row, bool modes) {
  const bool measured = !row.seconds.empty();
  const bench::Summary summary = measured ? bench::summarize(row.seconds) : bench::Summary{};
  const auto when = [measured](std::string text) { return measured ? text : std::string(); };
  return {device_of(row),
          name_of(row),
          tuning_of(row),
          modes ? std::string(name_of(row.mode)) : "",
          when(seconds(summary.median)),
          summary.count > 1 ? fmt::format("±{:.1f} %", 100 * summary.spread()) : "",
          seconds(row.round_trip),
          number(row.gflops()),
          number(row.gbps()),
          roofline_of(row),
          rounded(row.clock_mhz()),
          rounded(row.power_w()),
          number(row.picojoules_per_flop()),
          ratio(row.ratio_serial),
          ratio(row.ratio_previous),
          ratio(row.ratio_baseline),
          number(row.error_over_bound),
          verdict(row)};
}

}  // namespace

std::string ladder_table(const std::vector<Row>& rows) {
  Table table({{"device", Align::left},
               {"variant", Align::left},
               {"tuning", Align::left},
               {"mode", Align::left, true},
               {"kernel time"},
               {"spread"},
               {"round trip"},
               {"GFLOP/s"},
               {"GB/s"},
               {"roofline", Align::right, true},
               {"MHz", Align::right, true},
               {"W", Align::right, true},
               {"pJ/flop", Align::right, true},
               {"× serial", Align::right, true},
               {"× previous", Align::right, true},
               {"× baseline", Align::right, true},
               {"error/bound"},
               {"verified", Align::left}});
  const bool modes = std::ranges::any_of(rows, [](const Row& r) { return r.mode != bench::Mode::burst; });
  std::string group;
  for (const Row& row : rows) {
    const std::string its =
        bench::label_of(row.device) + "/" + row.variant->ladder + std::string(name_of(row.mode));
    if (!group.empty() && group != its) table.add_rule();
    group = its;
    table.add(cells_of(row, modes));
  }
  return table.text() + reasons_of(rows) + findings_of(rows) + executor_note_of(rows);
}

std::string mean_table(const std::vector<std::vector<Row>>& sizes) {
  if (sizes.size() < 2) return {};
  const auto same = [](const Row& a, const Row& b) {
    return a.variant == b.variant && a.tuning == b.tuning &&
           bench::label_of(a.device) == bench::label_of(b.device);
  };
  bool any = false;
  Table table({{"device", Align::left},
               {"variant", Align::left},
               {"tuning", Align::left},
               {"mean × serial of the last two sizes"}});
  for (const Row& last : sizes.back()) {
    const auto& before = sizes[sizes.size() - 2];
    const auto other = std::ranges::find_if(before, [&](const Row& r) { return same(r, last); });
    const bool known = other != before.end() && other->ratio_serial && last.ratio_serial;
    any = any || known;
    table.add({device_of(last), name_of(last), tuning_of(last),
               known ? number((*other->ratio_serial + *last.ratio_serial) / 2) : ""});
  }
  return any ? table.text() : std::string();
}

std::string to_string(const Dims& dims, const std::vector<std::string>& order) {
  std::string out;
  for (const auto& name : order)
    if (const auto found = dims.find(name); found != dims.end())
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, found->second);
  return out;
}

}  // namespace tessera::report
