// SPDX-License-Identifier: Apache-2.0
// A study's table, and its errors drawn against what it varies: both logarithmic, so that a law is a line.
// What was predicted is the line that the rest is held against.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include "tessera/report/chart.hpp"
#include "tessera/report/charts.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

// A column of errors, as points that a logarithmic scale can hold.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool predicted = false;
};

double middle(std::vector<double> numbers) {
  if (numbers.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

// "its error" is that of the column before.
std::string name_of(const StudiedTable& table, std::size_t column) {
  return table.columns[column] == "its error" && column > 0 ? table.columns[column - 1]
                                                            : table.columns[column];
}

std::vector<Curve> curves_of(const StudiedTable& table) {
  std::vector<Curve> out;
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    if (table.shows[c] != "error") continue;
    Curve curve{name_of(table, c), {}, table.columns[c].starts_with("predicted")};
    for (const auto& row : table.rows) {
      const double x = middle(row[0]), y = std::fabs(middle(row[c]));
      if (std::isfinite(x) && std::isfinite(y) && x > 0 && y > 0) curve.points.emplace_back(x, y);
    }
    if (!curve.points.empty()) out.push_back(std::move(curve));
  }
  return out;
}

// As much of a name as the margin holds.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 24;
  std::size_t characters = 0, end = 0;
  while (end < name.size() && characters < most) {
    do ++end;
    while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80);
    ++characters;
  }
  return end == name.size() ? name : name.substr(0, end) + "…";
}

// Five colours, and once more in dashes; the prediction has its own.
constexpr std::size_t colours = 5;
std::string colour_of(std::size_t series) { return "s" + std::to_string(series % colours); }

// Names that would touch are moved apart, from the top down, and up again where the last would leave the
// chart.
std::vector<double> places_of(const std::vector<Curve>& curves, const Scale& y, double top, double bottom) {
  constexpr double line = 15;
  std::vector<std::size_t> order(curves.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return y.at(curves[i].points.back().second); });
  std::vector<double> out(curves.size());
  double last = top - line;
  for (const std::size_t i : order)
    last = out[i] = std::max(last + line, y.at(curves[i].points.back().second));
  double room = bottom;
  for (auto i = order.rbegin(); i != order.rend(); ++i, room -= line)
    out[*i] = room = std::min(out[*i], room);
  return out;
}

Svg draw_study(const std::vector<Curve>& curves, const std::string& across, double width,
               const std::string& id, const Chart& chart) {
  const bool small = is_narrow(width);
  const double left = small ? 46 : 64, right = width - (small ? 12 : 190), top = 28;
  const double bottom = small ? 250 : 330;
  double least_x = std::numeric_limits<double>::infinity(), most_x = 0,
         least_y = std::numeric_limits<double>::infinity(), most_y = 0;
  for (const Curve& curve : curves)
    for (const auto& [at, value] : curve.points) {
      least_x = std::min(least_x, at), most_x = std::max(most_x, at);
      least_y = std::min(least_y, value), most_y = std::max(most_y, value);
    }
  const Scale x = Scale::around(Scale::Kind::log, least_x, most_x, left, right);
  const Scale y = Scale::around(Scale::Kind::log, least_y, most_y, bottom, top);
  Svg svg(width, bottom + 46, id, chart.title, chart.description);
  for (const Tick& tick : y.ticks(6)) {
    svg.line({left, y.at(tick.value)}, {right, y.at(tick.value)}, "grid");
    svg.text({left - 8, y.at(tick.value) + 4}, tick.label, "small muted", Anchor::end);
  }
  for (const Tick& tick : x.ticks(small ? 3 : 6))
    svg.text({x.at(tick.value), bottom + 18}, tick.label, "small muted", Anchor::middle);
  svg.line({left, bottom}, {right, bottom}, "axis");
  svg.text({2, 14}, "error", "small muted");
  svg.text({right, bottom + 36}, across, "small muted", Anchor::end);
  const std::vector<double> places = places_of(curves, y, top, bottom);
  for (std::size_t i = 0, series = 0; i < curves.size(); series += !curves[i++].predicted) {
    std::vector<Svg::Point> points;
    for (const auto& [at, value] : curves[i].points) points.emplace_back(x.at(at), y.at(value));
    const std::string colour = curves[i].predicted ? "mark-text" : colour_of(series);
    svg.path(points,
             curves[i].predicted ? "steps" : "series " + colour + (series < colours ? "" : " dashed"));
    if (!curves[i].predicted)
      for (std::size_t k = 0; k < points.size(); ++k)
        svg.circle(points[k], 4, "point " + colour,
                   fmt::format("{}\n{} {}: {}", curves[i].name, across, count(curves[i].points[k].first),
                               figure(curves[i].points[k].second)));
    if (small) continue;
    svg.line(points.back(), {right + 8, places[i]}, "leader");
    svg.text({right + 10, places[i] + 4}, shortened(curves[i].name), "small " + colour);
  }
  return svg;
}

Cell cell_of(const std::vector<double>& numbers, const std::string& shows) {
  const double value = middle(numbers);
  if (!std::isfinite(value)) return {};
  if (shows == "seconds") return seconds_cell(value);
  if (shows == "error") return {fmt::format("{:.2e}", value), value};
  if (shows == "ratio") return {fmt::format("{:.3g}", value), value};
  return {fmt::format("{}", value), value};
}

}  // namespace

Chart study_chart(const StudiedTable& table) {
  Chart out;
  out.name = "study";
  out.title = table.title;
  const std::vector<Curve> curves = curves_of(table);
  const std::string& across = table.columns[0];
  out.description = fmt::format(
      "Errors against {}, both logarithmic; the line without points is what theory predicts.", across);
  const auto is_line = [](const Curve& curve) { return curve.points.size() > 1; };
  // A table with one error is about something else.
  if (curves.size() < 2 || std::ranges::none_of(curves, is_line))
    out.missing = "it has no errors of several ways to draw";
  out.table.caption = table.title;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out.table.columns.push_back({table.columns[c], false, c > 0});
  for (const auto& row : table.rows) {
    auto& line = out.table.lines.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) line.cells.push_back(cell_of(row[c], table.shows[c]));
  }
  out.table_open = true;
  out.draw = [curves, across](const Chart& chart, double width, const std::string& id) {
    return draw_study(curves, across, width, id, chart);
  };
  return out;
}

}  // namespace tessera::report
