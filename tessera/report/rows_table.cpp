// SPDX-License-Identifier: Apache-2.0
// Everything that a file holds, one line a row: what charts leave out can be looked up here.
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/charts.hpp"

namespace tessera::report {
namespace {

Cell count_cell(Number value) { return value ? Cell(fmt::format("{:.0f}", *value), value) : Cell(); }

DataTable counter_rows(const Group& group) {
  std::vector<std::string> names;
  for (const Entry* row : group.rows)
    for (const auto& [name, value] : row->counters)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  DataTable out;
  out.columns = {{"counter", true}};
  for (const Entry* row : group.rows)
    out.columns.push_back({row->rung() + (row->tuning.empty() ? "" : " " + tessera::to_string(row->tuning))});
  for (const std::string& name : names) {
    DataTable::Line line{{Cell(name, {}, "code")}, ""};
    for (const Entry* row : group.rows) line.cells.push_back(number_cell(row->counter(name)));
    out.lines.push_back(std::move(line));
  }
  return out;
}

DataTable measured_rows(const Group& group) {
  DataTable out;
  out.columns = {{"rung", true},
                 {"size", true},
                 {"tuning", true, true},
                 {"median"},
                 {"±", false, true},
                 {"fastest", false, true},
                 {"samples", false, true},
                 {"round trip", false, true},
                 {"GFLOP/s", false, true},
                 {"GB/s", false, true},
                 {"of roofline", false, true},
                 {"bound by", true, true},
                 {"of FMA", false, true},
                 {"× serial", false, true},
                 {"× previous", false, true},
                 {"× baseline", false, true},
                 {"occupancy", false, true},
                 {"clock, MHz", false, true},
                 {"power, W", false, true},
                 {"energy, J", false, true},
                 {"throttled", false, true},
                 {"mode", true, true},
                 {"error/bound", false, true},
                 {"relative L2", false, true},
                 {"verified", true, true},
                 {"why not", true, true}};
  for (const Entry* row : group.rows)
    out.lines.push_back({{Cell(row->rung() + (row->serial ? " (serial)" : "")),
                          Cell(to_string(row->dims)),
                          Cell(tessera::to_string(row->tuning), {}, "code"),
                          seconds_cell(row->median),
                          percent_cell(row->spread()),
                          seconds_cell(row->minimum),
                          count_cell(row->samples),
                          seconds_cell(row->round_trip),
                          number_cell(row->gflops),
                          number_cell(row->gbps),
                          percent_cell(row->roofline),
                          Cell(row->ceiling),
                          percent_cell(row->fma_fraction),
                          number_cell(row->ratio_serial),
                          number_cell(row->ratio_previous),
                          number_cell(row->ratio_baseline),
                          percent_cell(row->occupancy),
                          count_cell(row->clock_mhz),
                          number_cell(row->power_w),
                          number_cell(row->joules),
                          count_cell(row->throttled),
                          Cell(row->mode),
                          number_cell(row->error_over_bound),
                          number_cell(row->relative_l2),
                          Cell(row->verified),
                          Cell(row->reason, {}, "words")},
                         row->wrong() ? "wrong" : ""});
  return out;
}

}  // namespace

DataTable rows_table(const Group& group) {
  DataTable out = group.document->kind == "trace" ? counter_rows(group) : measured_rows(group);
  out.caption = "All rows, " + where(group);
  return out;
}

}  // namespace tessera::report
