// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/charts.hpp"
#include "tessera/report/scale.hpp"

namespace tessera::report {
namespace {

Bar bar_of(const Entry& row, const Entries& rows, const Metric& metric) {
  Bar out;
  out.label = row.rung();
  out.detail = tessera::to_string(row.tuning);
  std::ranges::replace(out.detail, ',', ' ');
  out.tip = tip_of(row, metric);
  out.value = metric.of(row);
  if (!out.value) {
    out.missing = row.wrong() ? "wrong result" : row.reason.empty() ? "not measured" : row.reason;
    out.classes = row.wrong() ? "wrong" : "";
    return out;
  }
  out.value_text = figure(*out.value);
  if (row.spread()) {
    // A quartile of the time is one of the rate, upside down.
    const bool rate = metric.more_is_better;
    out.low = *out.value * (rate ? *row.median / *row.q3 : *row.q1 / *row.median);
    out.high = *out.value * (rate ? *row.median / *row.q1 : *row.q3 / *row.median);
  }
  for (const Entry* choice : choices_of(rows, row))
    if (const Number value = metric.of(*choice); value && choice != &row) out.choices.push_back(*value);
  return out;
}

DataTable table_of(const Entries& rungs, const Metric& metric, const Entry* best,
                   const std::string& caption) {
  DataTable out;
  out.caption = caption;
  out.columns = {{"rung", true},
                 {metric.unit},
                 {"time"},
                 {"±", false, true},
                 {"× previous", false, true},
                 {"× baseline", false, true},
                 {"of roofline", false, true},
                 {"energy", false, true},
                 {"error/bound", false, true},
                 {"verified", true, true}};
  for (const Entry* row : rungs) {
    const Number value = metric.of(*row);
    // Beneath the name: a column of its own would push the last ones off the page.
    Cell rung(row->rung());
    rung.under = tessera::to_string(row->tuning);
    std::ranges::replace(rung.under, ',', ' ');
    out.lines.push_back(
        {{std::move(rung), number_cell(value), seconds_cell(row->median), percent_cell(row->spread()),
          number_cell(row->ratio_previous), number_cell(row->ratio_baseline), percent_cell(row->roofline),
          row->joules ? Cell(figure(*row->joules) + " J", row->joules) : Cell(),
          number_cell(row->error_over_bound), Cell(row->verified)},
         row->wrong()  ? "wrong"
         : row == best ? "best"
                       : ""});
  }
  return out;
}

}  // namespace

Chart ladder_chart(const Group& group, const Dims& problem) {
  const Entries rows = at_problem(group.rows, problem);
  const Metric metric = metric_for(rows);
  const Entries rungs = best_choices(rows, metric);
  Chart out;
  out.name = "ladder";
  out.title = "The ladder at " + to_string(problem);
  out.description = fmt::format("Each rung with its best choice, {}, in {}: {} is better.", where(group),
                                metric.unit, metric.more_is_better ? "more" : "less");
  Entries own, baselines;
  for (const Entry* row : rungs) (row->baseline ? baselines : own).push_back(row);
  const Entry* best = best_of(own, metric);
  out.table = table_of(rungs, metric, best, out.title);
  out.table_open = true;
  if (best_of(rungs, metric) == nullptr) {
    out.missing = "no rung has a time";
    return out;
  }
  Bars bars{metric.unit, {}, {}, {}};
  for (const Entry* row : rungs) {
    bars.bars.push_back(bar_of(*row, rows, metric));
    if (row->counts()) bars.bars.back().classes = row == best ? "best" : row->baseline ? "other" : "";
  }
  if (const Entry* baseline = best_of(baselines, metric); baseline != nullptr && rungs.size() > 1) {
    bars.reference = metric.of(*baseline);
    bars.reference_name = baseline->variant;
  }
  const bool dots = std::ranges::any_of(bars.bars, [](const Bar& bar) { return !bar.choices.empty(); });
  if (dots) out.note = "Small circles: other choices of the same rung.";
  out.draw = [bars](const Chart& words, double width, const std::string& id) {
    return draw_bars(bars, width, id, words);
  };
  return out;
}

}  // namespace tessera::report
