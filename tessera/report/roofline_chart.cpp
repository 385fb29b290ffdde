// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/report/chart.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

struct Roof {
  double gflops = 0, gbps = 0;  // what the device reached at best, as measured
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

// From the device's own entry; else from what the rows say of the share that they reach, which names
// one ceiling each.
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

// Names stand in a column of their own, pushed apart, each led to its point.
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

}  // namespace tessera::report
