// SPDX-License-Identifier: Apache-2.0
// Heat maps of sweeps: rungs against sizes, and the choices of one rung.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <set>
#include <utility>
#include "tessera/report/charts.hpp"
#include "tessera/report/style.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

// Steps of equal width between the least and the most, or of equal ratio if these are far apart.
class Shades {
 public:
  explicit Shades(const HeatMap& map) {
    std::vector<double> values;
    for (const auto& line : map.cells)
      for (const HeatCell& cell : line)
        if (cell.value) values.push_back(*cell.value);
    if (values.empty()) return;
    const auto [least, most] = std::ranges::minmax(values);
    best_ = map.more_is_better ? most : least;
    outlined_ = map.outlined;
    const double worst = map.more_is_better ? 0 : heat_steps;
    if (least < most) scale_.emplace(kind_for(least, most), least, most, worst, heat_steps - worst);
  }
  int step(double value) const {
    return scale_ ? std::clamp(static_cast<int>(scale_->at(value)), 0, heat_steps - 1) : heat_steps - 1;
  }
  bool outlines(double value) const { return outlined_ && value == best_; }

 private:
  double best_ = 0;
  bool outlined_ = true;
  std::optional<Scale> scale_;
};

struct Grid {
  Grid(const HeatMap& map, double across) : small(is_narrow(across)) {
    std::size_t longest = display_width(map.down), widest = 0;
    for (const auto& name : map.lines) longest = std::max(longest, display_width(name));
    for (const auto& column : map.columns) widest = std::max(widest, display_width(column));
    left = std::clamp(6.7 * static_cast<double>(longest) + 14, 44.0, small ? 118.0 : 250.0);
    const auto columns = static_cast<double>(map.columns.size());
    const double least = std::max(small ? 44.0 : 52.0, 6.6 * static_cast<double>(widest) + 6);
    cell = std::clamp((across - left - 4) / columns, least, std::max(least, 104.0));
    line = small ? 32 : 34;
    width = std::max(left + columns * cell + 4, 330.0);
    bottom = top + line * static_cast<double>(map.lines.size());
  }
  double x(std::size_t c) const { return left + cell * static_cast<double>(c); }
  double y(std::size_t l) const { return top + line * static_cast<double>(l); }

  bool small;
  double left = 0, cell = 0, line = 0, width = 0, top = 46, bottom = 0;
};

void draw_cell(Svg& svg, const HeatCell& cell, const Shades& shades, const Grid& p, std::size_t l,
               std::size_t c) {
  const double x = p.x(c) + 1, y = p.y(l) + 1, wide = p.cell - 2, high = p.line - 2;
  const Svg::Point middle{x + wide / 2, y + high / 2 + 4};
  if (cell.value) {
    const int step = shades.step(*cell.value);
    svg.rect(x, y, wide, high, fmt::format("heat{}", step), cell.tip, 3);
    svg.text(middle, cell.text, fmt::format("small ink{}", step), Anchor::middle);
    if (shades.outlines(*cell.value)) svg.rect(x, y, wide, high, "ring", {}, 3);
    return;
  }
  if (cell.text.empty()) return;
  svg.rect(x, y, wide, high, cell.wrong ? "wrong-cell" : "empty", cell.tip, 3);
  svg.text(middle, cell.wrong ? "wrong" : "not run", cell.wrong ? "small bad-text" : "small muted",
           Anchor::middle);
}

}  // namespace

Svg draw_heat_map(const HeatMap& map, double width, const std::string& id, const Chart& chart) {
  const Grid p(map, width);
  const Shades shades(map);
  Svg svg(p.width, p.bottom + 34, id, chart.title, chart.description);
  svg.text({p.left + 1, 14}, map.across + " →", "small muted");
  svg.text({2, p.top - 10}, map.down + " ↓", "small muted");
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    svg.text({p.x(c) + p.cell / 2, p.top - 10}, map.columns[c], "small strong", Anchor::middle);
  for (std::size_t l = 0; l < map.lines.size(); ++l) {
    const auto room = static_cast<std::size_t>((p.left - 8) / 6.3);
    svg.text({2, p.y(l) + p.line / 2 + 4}, shortened(map.lines[l], room), "small");
    for (std::size_t c = 0; c < map.columns.size(); ++c) draw_cell(svg, map.cells[l][c], shades, p, l, c);
  }
  svg.text({2, p.bottom + 22}, map.unit, "small muted");
  return svg;
}

namespace {

DataTable heat_table(const HeatMap& map, const std::string& caption) {
  DataTable out;
  out.caption = caption + ", in " + map.unit;
  out.columns.push_back({map.down, true});
  for (const auto& column : map.columns) out.columns.push_back({column});
  for (std::size_t l = 0; l < map.lines.size(); ++l) {
    DataTable::Line line{{Cell(map.lines[l])}, ""};
    for (const HeatCell& cell : map.cells[l])
      line.cells.push_back(cell.value ? Cell(cell.text, cell.value) : Cell(cell.wrong ? "wrong" : ""));
    out.lines.push_back(std::move(line));
  }
  return out;
}

// Heat maps of sweeps: problems, and the choices of one rung.
constexpr std::size_t max_lines = 32;

HeatCell cell_of(const Entry* row, const Metric& metric) {
  if (row == nullptr) return {};
  const Number value = metric.of(*row);
  return {value, value ? figure(*value) : "not run", tip_of(*row, metric), row->wrong()};
}

// Keeps the better of two rows for one cell; a row without a value loses.
void keep_better(const Entry*& kept, const Entry* row, const Metric& metric) {
  if (kept == nullptr || !metric.of(*kept) || (metric.of(*row) && metric.better(*row, *kept))) kept = row;
}

void finish(Chart& out, HeatMap map) {
  out.table = heat_table(map, out.title);
  out.draw = [map = std::move(map)](const Chart& chart, double width, const std::string& id) {
    return draw_heat_map(map, width, id, chart);
  };
}

// Returns the sizes that distinguish problems: the ones that vary, or all if they vary together.
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

// Returns the values of the other parameters, by which a choice finds its line.
std::vector<int> others(const Tuning& tuning, const std::vector<Axis>& axes, const std::string& across) {
  std::vector<int> out;
  for (const Axis& axis : axes)
    if (axis.name != across) out.push_back(tuning.find(axis.name).value_or(0));
  return out;
}

std::string names_but(const std::vector<Axis>& axes, const std::string& across) {
  std::string out;
  for (const Axis& axis : axes)
    if (axis.name != across) out += (out.empty() ? "" : ", ") + axis.name;
  return out;
}

HeatMap tuning_map(const Entries& rows, const std::vector<Axis>& axes, const Metric& metric) {
  const Axis& across = *std::ranges::max_element(axes, {}, [](const Axis& a) { return a.values.size(); });
  HeatMap map{across.name, names_but(axes, across.name), metric.unit, {}, {}, {}, metric.more_is_better};
  for (const int value : across.values) map.columns.push_back(std::to_string(value));
  std::set<std::vector<int>> lines;
  for (const Entry* row : rows) lines.insert(others(row->tuning, axes, across.name));
  for (const auto& line : lines) {
    map.lines.push_back(fmt::format("{}", fmt::join(line, ", ")));
    auto& cells = map.cells.emplace_back();
    for (const int value : across.values) {
      const Entry* kept = nullptr;
      for (const Entry* row : rows)
        if (row->tuning.find(across.name) == value && others(row->tuning, axes, across.name) == line)
          keep_better(kept, row, metric);
      cells.push_back(cell_of(kept, metric));
    }
  }
  return map;
}

// Returns the share of a map's cells that was tried.
double filled(const HeatMap& map) {
  double tried = 0;
  for (const auto& line : map.cells)
    tried += static_cast<double>(
        std::ranges::count_if(line, [](const HeatCell& cell) { return !cell.text.empty(); }));
  return tried / static_cast<double>(map.lines.size() * map.columns.size());
}

// Draws choices that span no grid as bars, the best first.
void draw_as_bars(Chart& out, Entries rows, const Metric& metric) {
  const auto valued = [&](const Entry* row) { return metric.of(*row).has_value(); };
  std::stable_partition(rows.begin(), rows.end(), valued);
  std::ranges::stable_sort(
      rows, [&](const Entry* a, const Entry* b) { return valued(a) && valued(b) && metric.better(*a, *b); });
  if (rows.size() > max_lines) {
    out.note = fmt::format("The best {} of {} choices.", max_lines, rows.size());
    rows.resize(max_lines);
  }
  Bars bars{metric.unit, {}, {}, {}};
  out.table.caption = out.title;
  out.table.columns = {{"choice", true}, {metric.unit},        {"least", false, true},
                       {"median"},       {"p90", false, true}, {"why not", true, true}};
  const Entry* winner = winner_of(rows, metric);
  for (const Entry* row : rows) {
    Bar bar = bar_of(*row, {}, metric);
    bar.label = std::exchange(bar.detail, "");
    if (row == winner) bar.classes = "best";
    out.table.lines.push_back({{Cell(bar.label), number_cell(bar.value), seconds_cell(row->minimum),
                                median_cell(*row), seconds_cell(row->p90), Cell(bar.missing, {}, "words")},
                               row->wrong() ? "wrong" : ""});
    bars.bars.push_back(std::move(bar));
  }
  show_bars(out, std::move(bars));
}

Chart one_tuning_chart(const Group& group, const Entries& rows, const std::vector<Axis>& axes,
                       const Dims& problem) {
  constexpr double a_grid = 0.5;
  const Metric metric = metric_for(rows);
  Chart out;
  out.name = "tuning-" + rows[0]->variant;
  out.title = fmt::format("Choices of {} at {}", rows[0]->variant, to_string(problem));
  if (best_of(rows, metric) == nullptr) out.missing = "none of its choices has a time";
  HeatMap map = tuning_map(rows, axes, metric);
  if (axes.size() == 1 || filled(map) < a_grid || map.lines.size() > max_lines) {
    out.description = fmt::format("{} of each choice, {}, the best first.", metric.unit, where(group));
    draw_as_bars(out, rows, metric);
    return out;
  }
  map.outlined = winner_of(rows, metric) != nullptr;
  out.description =
      fmt::format("{} of each choice, {}; {}.", map.unit, where(group),
                  map.outlined ? "the best is outlined" : "the samples do not tell which is the best");
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
