// SPDX-License-Identifier: Apache-2.0
// A tuning run as it went: each trial's time in the order of trying, and the best so far.
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/charts.hpp"
#include "tessera/report/scale.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

struct Trial {
  const Entry* row = nullptr;
  Number value;
};

Svg draw_search(const std::vector<Trial>& trials, const Metric& metric, double width, const std::string& id,
                const Chart& words) {
  const bool small = is_narrow(width);
  const double left = small ? 46 : 64, right = width - 12, top = 28, bottom = small ? 250 : 300;
  double least = 0, most = 0;
  for (const Trial& trial : trials)
    if (trial.value) {
      least = least > 0 ? std::min(least, *trial.value) : *trial.value;
      most = std::max(most, *trial.value);
    }
  const Scale x(Scale::Kind::linear, 0, static_cast<double>(trials.size()) + 1, left, right);
  const Scale y = Scale::around(kind_for(least, most), least, most, bottom, top);
  Svg svg(width, bottom + 46, id, words.title, words.description);
  for (const Tick& tick : y.ticks(6)) {
    svg.line({left, y.at(tick.value)}, {right, y.at(tick.value)}, "grid");
    svg.text({left - 8, y.at(tick.value) + 4}, tick.label, "small muted", Anchor::end);
  }
  for (const Tick& tick : x.ticks(small ? 4 : 8))
    if (tick.value >= 1) svg.text({x.at(tick.value), bottom + 18}, tick.label, "small muted", Anchor::middle);
  svg.line({left, bottom}, {right, bottom}, "axis");
  svg.text({2, 14}, metric.unit, "small muted");
  svg.text({right, bottom + 36}, "trial", "small muted", Anchor::end);
  std::vector<Svg::Point> steps;
  Number best;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const double at = x.at(static_cast<double>(i) + 1);
    const Number value = trials[i].value;
    const bool better = value && (!best || (metric.more_is_better ? *value > *best : *value < *best));
    if (better && best) steps.emplace_back(at, y.at(*best));
    if (better) best = value;
    if (best) steps.emplace_back(at, y.at(*best));
    if (value)
      svg.circle({at, y.at(*value)}, 4, better ? "point best" : "point", tip_of(*trials[i].row, metric));
    else svg.rect(at - 2.5, bottom - 6, 5, 5, "failed", tip_of(*trials[i].row, metric));
  }
  if (best) {
    steps.emplace_back(right, y.at(*best));
    svg.path(steps, "steps");
  }
  return svg;
}

}  // namespace

Chart search_chart(const Group& group, const Dims& problem) {
  const Entries rows = at_problem(group.rows, problem);
  const Metric metric = metric_for(rows);
  std::vector<Trial> trials;
  for (const Entry* row : rows) trials.push_back({row, metric.of(*row)});
  Chart out;
  out.name = "search";
  out.title = fmt::format("The search at {}", to_string(problem));
  out.description = fmt::format("{} of each trial in the order of trying, {}; the line is the best so far.",
                                metric.unit, where(group));
  const auto failed = std::ranges::count_if(trials, [](const Trial& t) { return !t.value; });
  if (failed > 0) out.note = fmt::format("Squares on the axis: {} trials without a valid time.", failed);
  if (best_of(rows, metric) == nullptr) out.missing = "no trial has a time";
  out.table.caption = out.title;
  out.table.columns = {{"trial"}, {"rung", true}, {"tuning", true},       {metric.unit},
                       {"time"},  {"±"},          {"why not", true, true}};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Entry& row = *trials[i].row;
    out.table.lines.push_back(
        {{Cell(std::to_string(i + 1), static_cast<double>(i + 1)), Cell(row.rung()),
          Cell(tessera::to_string(row.tuning), {}, "code"), number_cell(trials[i].value),
          seconds_cell(row.median), percent_cell(row.spread()),
          Cell(row.wrong() ? "wrong result" : row.reason, {}, "words")},
         row.wrong()                     ? "wrong"
         : &row == best_of(rows, metric) ? "best"
                                         : ""});
  }
  out.draw = [trials, metric](const Chart& words, double width, const std::string& id) {
    return draw_search(trials, metric, width, id, words);
  };
  return out;
}

}  // namespace tessera::report
