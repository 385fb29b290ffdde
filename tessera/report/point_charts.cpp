// SPDX-License-Identifier: Apache-2.0
// Charts with two logarithmic axes: the roofline, and a study's errors against the varied parameter.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include "tessera/report/charts.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

struct Roof {
  double gflops = 0, gbps = 0;  // the best measured rates of the device
  double at(double intensity) const { return std::min(gflops, gbps * intensity); }
  double ridge() const { return gflops / gbps; }
};

// Thousands of GFLOP/s are TFLOP/s.
struct Rate {
  double factor;
  const char* unit;
};
Rate rate_for(double gflops) { return gflops >= 1000 ? Rate{1e-3, "TFLOP/s"} : Rate{1, "GFLOP/s"}; }
std::string rate_text(double gflops) {
  const Rate rate = rate_for(gflops);
  return figure(gflops * rate.factor) + " " + rate.unit;
}
std::string bandwidth_text(double gbps) {
  return gbps >= 1000 ? figure(gbps / 1000) + " TB/s" : figure(gbps) + " GB/s";
}

struct Spot {
  const Entry* row = nullptr;
  double x = 0, y = 0;
  bool best = false;
};

// Returns the roof of the device's own entry, else one derived from the rows' roofline fractions.
Roof roof_of(const Group& group) {
  Roof out;
  if (const DeviceFacts* device = group.document->device(group.device)) {
    out.gbps = device->memory_gbps.value_or(0);
    if (const auto rate = device->gflops.find(group.element); rate != device->gflops.end())
      out.gflops = rate->second;
  }
  for (const Entry* row : group.rows) {
    if (!row->counts() || !(row->roofline.value_or(0) > 0)) continue;
    if (out.gbps == 0 && row->ceiling == "memory" && row->gbps) out.gbps = *row->gbps / *row->roofline;
    if (out.gflops == 0 && row->ceiling == "arithmetic" && row->gflops)
      out.gflops = *row->gflops / *row->roofline;
  }
  return out;
}

Reason missing_of(const Roof& roof, const std::vector<Spot>& spots) {
  if (spots.empty()) return "no row has both arithmetic and bytes";
  if (roof.gbps <= 0 && roof.gflops <= 0) return "the file holds no measured ceilings of the device";
  if (roof.gbps <= 0) return "the file holds no measured memory bandwidth of the device";
  if (roof.gflops <= 0) return "the file holds no measured arithmetic rate of the device for this element";
  return std::nullopt;
}

struct Frame {
  Scale x, y;
  double left, right, top, bottom;
};

Frame frame_of(const Roof& roof, const std::vector<Spot>& spots, double width) {
  const bool small = is_narrow(width);
  double first = roof.ridge(), last = roof.ridge(), least = roof.gflops;
  for (const Spot& spot : spots) {
    first = std::min(first, spot.x);
    last = std::max(last, spot.x);
    least = std::min(least, spot.y);
  }
  const double left = small ? 46 : 64, right = small ? width - 118 : width - 190, top = 26;
  const double bottom = small ? 370 : 440;
  const double low = std::pow(10, std::floor(std::log10(least * 0.8)));
  return {Scale(Scale::Kind::log, first / 6, last * (small ? 2 : 4), left, right),
          Scale(Scale::Kind::log, low, roof.gflops * 2, bottom, top),
          left,
          right,
          top,
          bottom};
}

void draw_axes(Svg& svg, const Frame& f, const Rate& rate, bool small) {
  for (const Tick& tick : f.x.ticks(small ? 4 : 7)) {
    svg.line({f.x.at(tick.value), f.top}, {f.x.at(tick.value), f.bottom}, "grid");
    svg.text({f.x.at(tick.value), f.bottom + 18}, tick.label, "small muted", Anchor::middle);
  }
  for (const Tick& tick : f.y.ticks(8)) {
    svg.line({f.left, f.y.at(tick.value)}, {f.right, f.y.at(tick.value)}, "grid");
    svg.text({f.left - 8, f.y.at(tick.value) + 4}, fmt::format("{:.6g}", tick.value * rate.factor),
             "small muted", Anchor::end);
  }
  svg.line({f.left, f.bottom}, {f.right, f.bottom}, "axis");
  svg.text({f.right, f.bottom + 38},
           small ? "FLOP per byte" : "FLOP per byte that the problem needs, logarithmic scale", "small muted",
           Anchor::end);
  svg.text({small ? 2 : f.left, f.top - 12}, rate.unit, "small muted");
}

void draw_roof(Svg& svg, const Frame& f, const Roof& roof, bool small) {
  const double start = std::max(f.x.low(), f.y.low() / roof.gbps);
  const Svg::Point left{f.x.at(start), f.y.at(roof.at(start))},
      ridge{f.x.at(roof.ridge()), f.y.at(roof.gflops)}, right{f.right, f.y.at(roof.gflops)};
  svg.path({left, ridge, right, {f.right, f.bottom}, {left.first, f.bottom}}, "below", true);
  svg.path({left, ridge, right}, "roof");
  svg.text({f.right, f.y.at(roof.gflops) - 8}, rate_text(roof.gflops), "small strong", Anchor::end);
  const double middle = std::sqrt(start * roof.ridge());
  svg.text({f.x.at(middle) + (small ? 8 : 10), f.y.at(roof.at(middle)) + 16}, bandwidth_text(roof.gbps),
           "small strong");
}

// Draws names in a column of their own, pushed apart, each with a line to its point.
void draw_names(Svg& svg, const Frame& f, std::vector<Spot> spots, bool small) {
  constexpr double line = 16;
  std::ranges::sort(spots, std::greater(), &Spot::y);
  std::vector<double> ys;
  for (const Spot& spot : spots) {
    const double wanted = f.y.at(spot.y);
    ys.push_back(ys.empty() ? wanted : std::max(wanted, ys.back() + line));
  }
  double limit = f.bottom + 4;
  for (std::size_t i = ys.size(); i-- > 0; limit -= line) ys[i] = std::min(ys[i], limit);
  const double column = f.right + (small ? 14 : 22);
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const Svg::Point point{f.x.at(spots[i].x), f.y.at(spots[i].y)};
    svg.path({{point.first + 6, point.second}, {f.right + 4, ys[i]}, {column - 3, ys[i]}}, "leader");
    const std::string name = spots[i].row->rung();
    svg.text({column, ys[i] + 4}, small ? shortened(name, 14) : name,
             spots[i].best ? "small strong" : "small");
  }
}

DataTable table_of(const std::vector<Spot>& spots, const Roof& roof, const std::string& caption) {
  DataTable out;
  out.caption = caption;
  out.columns = {{"rung", true},       {"FLOP/byte"},       {"GFLOP/s"},
                 {"ceiling, GFLOP/s"}, {"of the roofline"}, {"bound by", true}};
  for (const Spot& spot : spots)
    out.lines.push_back(
        {{Cell(spot.row->rung()), number_cell(spot.x), number_cell(spot.y), number_cell(roof.at(spot.x)),
          percent_cell(spot.y / roof.at(spot.x)), Cell(spot.x < roof.ridge() ? "memory" : "arithmetic")},
         spot.best ? "best" : ""});
  return out;
}

}  // namespace

Chart roofline_chart(const Group& group, const Dims& problem) {
  const Entries rows = at_problem(group.rows, problem);
  const Metric metric{"arithmetic", "GFLOP/s", &Entry::gflops, 1, true};
  const Roof roof = roof_of(group);
  std::vector<Spot> spots;
  Entries own;
  for (const Entry* row : best_choices(rows, metric)) {
    if (!metric.of(*row) || !row->intensity()) continue;
    spots.push_back({row, *row->intensity(), *metric.of(*row)});
    if (!row->baseline) own.push_back(row);
  }
  const Entry* best = best_of(own, metric);
  for (Spot& spot : spots) spot.best = spot.row == best;
  Chart out;
  out.name = "roofline";
  out.title = "The roofline at " + to_string(problem);
  out.missing = missing_of(roof, spots);
  if (out.missing) return out;
  out.description = fmt::format(
      "What {} allows, as measured: {} from memory and {} of {} arithmetic; they meet at {} FLOP "
      "per byte.",
      group.device_name(), bandwidth_text(roof.gbps), rate_text(roof.gflops), group.element,
      figure(roof.ridge()));
  out.note =
      "All rungs compute the same problem, so they share the bytes that it needs at least; a rung that moves "
      "more of "
      "them stands lower.";
  out.table = table_of(spots, roof, out.title);
  out.draw = [roof, spots, metric = metric_for(rows)](const Chart& chart, double width,
                                                      const std::string& id) {
    const bool small = is_narrow(width);
    const Frame frame = frame_of(roof, spots, width);
    Svg svg(width, frame.bottom + 48, id, chart.title, chart.description);
    draw_roof(svg, frame, roof, small);
    draw_axes(svg, frame, rate_for(roof.gflops), small);
    draw_names(svg, frame, spots, small);
    for (const Spot& spot : spots)
      svg.circle({frame.x.at(spot.x), frame.y.at(spot.y)}, spot.best ? 6.5 : 5.5,
                 spot.best            ? "point best"
                 : spot.row->baseline ? "point other"
                                      : "point",
                 tip_of(*spot.row, metric));
    return svg;
  };
  return out;
}

namespace {

using Anchor = Svg::Anchor;

// A column of errors, as points on a logarithmic scale.
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

// "its error" belongs to the column before.
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

// Five colours, then the same ones dashed; the prediction has its own.
constexpr std::size_t series_colours = 5, most_letters = 25;
std::string colour_of(std::size_t series) { return "s" + std::to_string(series % series_colours); }

// Moves overlapping names apart, from the top down, and up again if the last would leave the chart.
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
             curves[i].predicted ? "steps" : "series " + colour + (series < series_colours ? "" : " dashed"));
    if (!curves[i].predicted)
      for (std::size_t k = 0; k < points.size(); ++k)
        svg.circle(points[k], 4, "point " + colour,
                   fmt::format("{}\n{} {}: {}", curves[i].name, across, count(curves[i].points[k].first),
                               figure(curves[i].points[k].second)));
    if (small) continue;
    svg.line(points.back(), {right + 8, places[i]}, "leader");
    svg.text({right + 10, places[i] + 4}, shortened(curves[i].name, most_letters), "small " + colour);
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
  // A table with a single error column is not a comparison.
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
