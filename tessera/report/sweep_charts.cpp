// SPDX-License-Identifier: Apache-2.0
// Heat maps of what was swept: problems, and the choices of one rung.
#include <fmt/format.h>
#include <algorithm>
#include <set>
#include "tessera/report/charts.hpp"
#include "tessera/report/escape.hpp"
#include "tessera/report/scale.hpp"

namespace tessera::report {
namespace {

constexpr std::size_t most_lines = 32;

HeatCell cell_of(const Entry* row, const Metric& metric) {
  if (row == nullptr) return {};
  const Number value = metric.of(*row);
  return {value, value ? figure(*value) : "n/a", tip_of(*row, metric), row->wrong()};
}

// The better of two in one cell; what has no value gives way.
void keep_better(const Entry*& kept, const Entry* row, const Metric& metric) {
  if (kept == nullptr || !metric.of(*kept) || (metric.of(*row) && metric.better(*row, *kept))) kept = row;
}

void finish(Chart& out, HeatMap map) {
  out.table = heat_table(map, out.title);
  out.draw = [map = std::move(map)](const Chart& words, double width, const std::string& id) {
    return draw_heat_map(map, width, id, words);
  };
}

// What distinguishes problems: the sizes that vary, or all where they go together.
std::string short_size(const Dims& dims) {
  std::set<std::int64_t> values;
  std::string out;
  for (const auto& [name, value] : dims) {
    values.insert(value);
    out += (out.empty() ? "" : "×") + std::to_string(value);
  }
  return values.size() == 1 ? std::to_string(*values.begin()) : out;
}

struct Axis {
  std::string name;
  std::set<int> values;
};

std::vector<Axis> axes_of(const Entries& rows) {
  std::vector<Axis> out;
  for (const Entry* row : rows)
    for (const auto& [name, value] : row->tuning) {
      auto found = std::ranges::find(out, name, &Axis::name);
      if (found == out.end()) found = out.insert(out.end(), Axis{name, {}});
      found->values.insert(value);
    }
  std::erase_if(out, [](const Axis& axis) { return axis.values.size() < 2; });
  return out;
}

// The other parameters of a choice, as the name of its line.
std::string others(const Tuning& tuning, const std::vector<Axis>& axes, const std::string& across) {
  std::string out;
  for (const Axis& axis : axes)
    if (const auto value = tuning.find(axis.name); value && axis.name != across)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis.name, *value);
  return out;
}

std::string names_but(const std::vector<Axis>& axes, const std::string& across) {
  std::string out;
  for (const Axis& axis : axes)
    if (axis.name != across) out += (out.empty() ? "" : ", ") + axis.name;
  return out;
}

struct Line {
  Tuning tuning;
  std::string name, shown;
};

// Each combination of the other parameters once; by number where that is one parameter.
std::vector<Line> lines_of(const Entries& rows, const std::vector<Axis>& axes, const Axis& across) {
  std::vector<Line> out;
  for (const Entry* row : rows) {
    const std::string name = others(row->tuning, axes, across.name);
    if (std::ranges::find(out, name, &Line::name) == out.end()) out.push_back({row->tuning, name, name});
  }
  if (axes.size() != 2) return out;
  const std::string& down = axes[0].name == across.name ? axes[1].name : axes[0].name;
  const auto value = [&down](const Line& line) { return line.tuning.find(down).value_or(0); };
  std::ranges::stable_sort(out, {}, value);
  for (Line& line : out) line.shown = std::to_string(value(line));
  return out;
}

HeatMap tuning_map(const Entries& rows, const std::vector<Axis>& axes) {
  const Metric metric = metric_for(rows);
  const Axis& across = *std::ranges::max_element(axes, {}, [](const Axis& a) { return a.values.size(); });
  HeatMap map{
      across.name,          axes.size() == 1 ? "" : names_but(axes, across.name), metric.unit, {}, {}, {},
      metric.more_is_better};
  for (const int value : across.values) map.columns.push_back(std::to_string(value));
  for (const Line& line : lines_of(rows, axes, across)) {
    map.lines.push_back(axes.size() == 1 ? metric.unit : line.shown);
    auto& cells = map.cells.emplace_back();
    for (const int value : across.values) {
      const Entry* kept = nullptr;
      for (const Entry* row : rows)
        if (row->tuning.find(across.name) == value && others(row->tuning, axes, across.name) == line.name)
          keep_better(kept, row, metric);
      cells.push_back(cell_of(kept, metric));
    }
  }
  return map;
}

// Of the places of a map, the share that was tried.
double filled(const HeatMap& map) {
  double tried = 0;
  for (const auto& line : map.cells)
    tried += static_cast<double>(
        std::ranges::count_if(line, [](const HeatCell& cell) { return !cell.text.empty(); }));
  return tried / static_cast<double>(map.lines.size() * map.columns.size());
}

// Choices that span no grid: bars, the best first.
void draw_as_bars(Chart& out, Entries rows, const Metric& metric) {
  const auto valued = [&](const Entry* row) { return metric.of(*row).has_value(); };
  std::ranges::stable_partition(rows, valued);
  std::ranges::stable_sort(
      rows, [&](const Entry* a, const Entry* b) { return valued(a) && valued(b) && metric.better(*a, *b); });
  if (rows.size() > most_lines) {
    out.note = fmt::format("The best {} of {} choices.", most_lines, rows.size());
    rows.resize(most_lines);
  }
  Bars bars{metric.unit, {}, {}, {}};
  out.table.caption = out.title;
  out.table.columns = {
      {"choice", true}, {metric.unit}, {"time"}, {"±", false, true}, {"why not", true, true}};
  for (const Entry* row : rows) {
    const std::string choice = others(row->tuning, axes_of(rows), "");
    const Number value = metric.of(*row);
    const std::string why = row->wrong()          ? "wrong result"
                            : row->reason.empty() ? "not measured"
                                                  : row->reason;
    bars.bars.push_back({choice,
                         "",
                         value ? figure(*value) : "",
                         tip_of(*row, metric),
                         value,
                         {},
                         {},
                         {},
                         row == rows.front() && value ? "best"
                         : row->wrong()               ? "wrong"
                                                      : "",
                         value ? "" : why});
    out.table.lines.push_back({{Cell(choice), number_cell(value), seconds_cell(row->median),
                                percent_cell(row->spread()), Cell(value ? "" : why, {}, "words")},
                               row->wrong() ? "wrong" : ""});
  }
  out.draw = [bars](const Chart& words, double width, const std::string& id) {
    return draw_bars(bars, width, id, words);
  };
}

Chart one_tuning_chart(const Group& group, const Entries& rows, const std::vector<Axis>& axes,
                       const Dims& problem) {
  constexpr double a_grid = 0.5;
  HeatMap map = tuning_map(rows, axes);
  const Metric metric = metric_for(rows);
  Chart out;
  out.name = "tuning-" + rows[0]->variant;
  out.title = fmt::format("Choices of {} at {}", rows[0]->variant, to_string(problem));
  if (best_of(rows, metric) == nullptr) out.missing = "none of its choices has a time";
  if (filled(map) < a_grid || map.lines.size() > most_lines) {
    out.description = fmt::format("{} of each choice, {}, the best first.", map.unit, where(group));
    draw_as_bars(out, rows, metric);
    return out;
  }
  out.description = fmt::format("{} of each choice, {}; the best is outlined.", map.unit, where(group));
  finish(out, std::move(map));
  return out;
}

}  // namespace

Chart sizes_chart(const Group& group) {
  const Entries rows = group.rows;
  const auto problems = problems_of(rows);
  const Metric metric = metric_for(rows);
  const Entries rungs = best_choices(rows, metric);
  Chart out;
  out.name = "sizes";
  out.title = "Every rung at every size";
  std::string across = "size";
  if (!problems.empty() && short_size(problems.back()).find("×") != std::string::npos) {
    across.clear();
    for (const auto& [name, value] : problems.back()) across += (across.empty() ? "" : "×") + name;
  }
  out.description =
      fmt::format("{} of each rung's best choice, {}; the best is outlined.", metric.unit, where(group));
  HeatMap map{across, "rung", metric.unit, {}, {}, {}, metric.more_is_better};
  for (const Dims& dims : problems) map.columns.push_back(short_size(dims));
  for (const Entry* rung : rungs) {
    map.lines.push_back(rung->rung());
    auto& cells = map.cells.emplace_back();
    for (const Dims& dims : problems) {
      const Entry* kept = nullptr;
      for (const Entry* row : choices_of(at_problem(rows, dims), *rung)) keep_better(kept, row, metric);
      cells.push_back(cell_of(kept, metric));
    }
  }
  finish(out, std::move(map));
  return out;
}

std::vector<Chart> tuning_charts(const Group& group, const Dims& problem) {
  const Entries rows = at_problem(group.rows, problem);
  std::vector<Chart> out;
  Entries seen;
  for (const Entry* row : rows) {
    if (std::ranges::any_of(seen, [&](const Entry* other) { return same_rung(*other, *row); })) continue;
    seen.push_back(row);
    const Entries choices = choices_of(rows, *row);
    const auto axes = axes_of(choices);
    if (!axes.empty() && choices.size() > 2) out.push_back(one_tuning_chart(group, choices, axes, problem));
  }
  return out;
}

}  // namespace tessera::report
