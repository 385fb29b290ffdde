// SPDX-License-Identifier: Apache-2.0
// Rows that several devices shared: who did how much, and who was waited for.
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/charts.hpp"
#include "tessera/report/scale.hpp"

namespace tessera::report {
namespace {

Chart split_chart(const Entry& row) {
  Chart out;
  out.name = "split-" + row.variant;
  out.title = fmt::format("How {} was split at {}", row.variant, to_string(row.dims));
  out.description = "The time that each device was busy: the work ends with the slowest of them.";
  double longest = 0;
  for (const Part& part : row.split) longest = std::max(longest, part.seconds.value_or(0));
  const bool milli = longest < 1;
  const double factor = milli ? 1e3 : 1;
  Bars bars{milli ? "ms" : "s", {}, {}, {}};
  out.table.caption = out.title;
  out.table.columns = {
      {"device", true}, {"share of the work"}, {"busy"}, {"GFLOP/s", false, true}, {"waited", false, true}};
  for (const Part& part : row.split) {
    Bar bar;
    bar.label = part.device;
    if (part.share) bar.detail = fmt::format("{:.1f} % of the work", 100 * *part.share);
    bar.tip = part.device + "\n" + bar.detail;
    if (part.seconds && *part.seconds > 0) {
      bar.value = *part.seconds * factor;
      bar.value_text = figure(*bar.value);
      bar.classes = *part.seconds == longest ? "best" : "";
    } else {
      bar.missing = "no time given";
    }
    bars.bars.push_back(bar);
    out.table.lines.push_back(
        {{Cell(part.device), percent_cell(part.share), seconds_cell(part.seconds), number_cell(part.gflops),
          percent_cell(part.seconds && longest > 0 ? Number(1 - *part.seconds / longest) : Number())},
         ""});
  }
  if (!(longest > 0)) out.missing = "no device has a time";
  out.table_open = true;
  out.draw = [bars](const Chart& words, double width, const std::string& id) {
    return draw_bars(bars, width, id, words);
  };
  return out;
}

}  // namespace

std::vector<Chart> split_charts(const Group& group) {
  std::vector<Chart> out;
  for (const Entry* row : group.rows)
    if (!row->split.empty()) out.push_back(split_chart(*row));
  return out;
}

}  // namespace tessera::report
