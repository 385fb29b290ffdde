// SPDX-License-Identifier: Apache-2.0
// Charts with two logarithmic axes: the roofline, and a study's errors against the varied parameter.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/report/charts.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/study.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

// Both axes are logarithmic.
struct Frame {
  Scale x, y;
  double left, right, top, bottom;

  Svg::Point at(double x_value, double y_value) const { return {x.at(x_value), y.at(y_value)}; }
};

// `factor`: from the values on the y axis to the numbers beside it.
void draw_axes(Svg& svg, const Frame& f, bool small, const std::string& x_name, const std::string& y_name,
               double factor = 1) {
  for (const Tick& tick : f.x.ticks(small ? 4 : 7)) {
    svg.line({f.x.at(tick.value), f.top}, {f.x.at(tick.value), f.bottom}, "grid");
    svg.text({f.x.at(tick.value), f.bottom + 18}, tick.label, "small muted", Anchor::middle);
  }
  for (const Tick& tick : f.y.ticks(8)) {
    svg.line({f.left, f.y.at(tick.value)}, {f.right, f.y.at(tick.value)}, "grid");
    svg.text({f.left - 8, f.y.at(tick.value) + 4}, fmt::format("{:.6g}", tick.value * factor), "small muted",
             Anchor::end);
  }
  svg.line({f.left, f.bottom}, {f.right, f.bottom}, "axis");
  svg.text({f.right, f.bottom + 38}, x_name, "small muted", Anchor::end);
  svg.text({small ? 2 : f.left, f.top - 12}, y_name, "small muted");
}

// The name of a point.
struct Name {
  Svg::Point of;
  std::string text, classes;
};

// Draws names in a column of their own, pushed apart, each with a line to its point.
void draw_names(Svg& svg, const Frame& f, std::vector<Name> names, double column) {
  constexpr double line = 16;
  std::ranges::stable_sort(names, {}, [](const Name& name) { return name.of.second; });
  std::vector<double> ys;
  for (const Name& name : names)
    ys.push_back(std::max(name.of.second, ys.empty() ? f.top : ys.back() + line));
  double limit = f.bottom + 4;
  for (std::size_t i = ys.size(); i-- > 0; limit = ys[i] - line) ys[i] = std::min(ys[i], limit);
  for (std::size_t i = 0; i < names.size(); ++i) {
    svg.path({names[i].of, {f.right + 4, ys[i]}, {column - 3, ys[i]}}, "leader");
    svg.text({column, ys[i] + 4}, names[i].text, names[i].classes);
  }
}

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
  const Metric metric{"GFLOP/s", &Entry::gflops, 1, true};
  const Roof roof = roof_of(group);
  std::vector<Spot> spots;
  Entries own;
  for (const Entry* row : best_choices(rows, metric)) {
    if (!metric.of(*row) || !row->intensity()) continue;
    spots.push_back({row, *row->intensity(), *metric.of(*row)});
    if (!row->baseline) own.push_back(row);
  }
  const Entry* best = winner_of(own, metric);
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
    const Rate rate = rate_for(roof.gflops);
    draw_axes(svg, frame, small,
              small ? "FLOP per byte" : "FLOP per byte that the problem needs, logarithmic scale", rate.unit,
              rate.factor);
    std::vector<Name> names;
    for (const Spot& spot : spots)
      names.push_back({frame.at(spot.x, spot.y), shortened(spot.row->rung(), small ? 14 : 30),
                       spot.best ? "small strong" : "small"});
    draw_names(svg, frame, names, frame.right + (small ? 14 : 22));
    for (const Spot& spot : spots)
      svg.circle(frame.at(spot.x, spot.y), spot.best ? 6.5 : 5.5,
                 spot.best            ? "point best"
                 : spot.row->baseline ? "point other"
                                      : "point",
                 tip_of(*spot.row, metric));
    return svg;
  };
  return out;
}

namespace {

// A column of errors, as points on a logarithmic scale.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool predicted = false;
};

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
      const double x = tessera::median(row[0]), y = std::fabs(tessera::median(row[c]));
      if (std::isfinite(x) && std::isfinite(y) && x > 0 && y > 0) curve.points.emplace_back(x, y);
    }
    if (!curve.points.empty()) out.push_back(std::move(curve));
  }
  return out;
}

// Five colours, then the same ones dashed; the prediction has its own.
constexpr std::size_t series_colours = 5, max_letters = 25;
std::string colour_of(std::size_t series) { return "s" + std::to_string(series % series_colours); }

Svg draw_study(const std::vector<Curve>& curves, const std::string& across, double width,
               const std::string& id, const Chart& chart) {
  const bool small = is_narrow(width);
  const double left = small ? 46 : 64, right = width - (small ? 12 : 190), top = 28;
  const double bottom = small ? 250 : 330;
  std::vector<double> xs, ys;
  for (const Curve& curve : curves)
    for (const auto& [at, value] : curve.points) xs.push_back(at), ys.push_back(value);
  const auto scale = [](const std::vector<double>& values, double from, double to) {
    return Scale::around(Scale::Kind::log, std::ranges::min(values), std::ranges::max(values), from, to);
  };
  const Frame frame{scale(xs, left, right), scale(ys, bottom, top), left, right, top, bottom};
  Svg svg(width, bottom + 48, id, chart.title, chart.description);
  draw_axes(svg, frame, small, across, "error");
  std::vector<Name> names;
  std::size_t series = 0;
  for (const Curve& curve : curves) {
    std::vector<Svg::Point> points;
    for (const auto& [at, value] : curve.points) points.push_back(frame.at(at, value));
    const std::string colour = curve.predicted ? "mark-text" : colour_of(series);
    names.push_back({points.back(), shortened(curve.name, max_letters), "small " + colour});
    if (curve.predicted) {
      svg.path(points, "steps");
      continue;
    }
    svg.path(points, "series " + colour + (series++ < series_colours ? "" : " dashed"));
    for (std::size_t k = 0; k < points.size(); ++k)
      svg.circle(points[k], 4, "point " + colour,
                 fmt::format("{}\n{} {}: {}", curve.name, across, count(curve.points[k].first),
                             figure(curve.points[k].second)));
  }
  if (!small) draw_names(svg, frame, names, right + 14);
  return svg;
}

Cell cell_of(const std::vector<double>& numbers, const std::string& shows) {
  const double value = tessera::median(numbers);
  if (shows == "seconds") return seconds_cell(value);
  return std::isfinite(value) ? Cell(studied(value, shows), value) : Cell();
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
