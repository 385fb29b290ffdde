// SPDX-License-Identifier: Apache-2.0
#include "ops/imaging/light_field_operation.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "tessera/core/text/expression.hpp"

namespace tessera::lightfield {
namespace {

constexpr double place_unit = 1 << place_bits;

void require_at_most(const Arguments& arguments, const char* name, std::int64_t most) {
  if (arguments.dim(name) > most)
    throw Error(std::string("views has ") + name + " = " + std::to_string(arguments.dim(name)) +
                ", more than " + std::to_string(most));
}

std::int64_t along(const std::string& text, double at, std::int64_t views, bool grid) {
  const double last = static_cast<double>(views - 1), place = grid ? at * last : at;
  if (!(place >= 0 && place <= last))
    throw Error("--at " + text + " lies outside the grid: " +
                (grid ? std::string("0 is the first view, 1 the last")
                      : "views are counted from 0 to " + std::to_string(views - 1)));
  return in_places(place);
}

void set_centre(LightFieldPlan& plan, const Arguments& arguments) {
  const std::string& text = arguments.text("at");
  const std::vector<double> at = numbers_of(text);
  if (at.size() != 2 || text.find(':') != std::string::npos)
    throw Error("--at " + text + " should be row,column, as 0.3,0.7");
  const bool grid = arguments.text("units") == "grid";
  plan.centre_row = along(text, at[0], arguments.dim("rows"), grid);
  plan.centre_col = along(text, at[1], arguments.dim("cols"), grid);
}

// The reference for every rung of `refocus` and `viewpoint` evaluates the definition in docs/lightfield.md
// one sample at a time.

// A tap of an interpolation.
struct Weighted {
  std::int64_t at;      // from the sample of the result, in pixels
  std::int64_t weight;  // in 2^-bits
};

double nearest_whole(double value) { return std::floor(value + 0.5); }

// Returns the weights along an axis for a view at `place`: all numbers here are multiples of powers of 2 that
// a double holds exactly.
std::vector<Weighted> weights_of(double place, double slope, double bits, Interpolation between) {
  const double one = std::ldexp(1.0, static_cast<int>(bits)),
               shift = nearest_whole(slope * place * one) / one;
  if (between == Interpolation::nearest)
    return {{static_cast<std::int64_t>(nearest_whole(shift)), static_cast<std::int64_t>(one)}};
  const auto first = static_cast<std::int64_t>(std::floor(shift));
  const double f = shift - std::floor(shift);
  const auto whole = [one](double weight) { return static_cast<std::int64_t>(nearest_whole(weight * one)); };
  if (between == Interpolation::linear) return {{first, whole(1 - f)}, {first + 1, whole(f)}};
  const std::int64_t before = whole((-f * f * f + 2 * f * f - f) / 2),
                     behind = whole((-3 * f * f * f + 4 * f * f + f) / 2),
                     last = whole((f * f * f - f * f) / 2);
  return {{first - 1, before},
          {first, static_cast<std::int64_t>(one) - before - behind - last},
          {first + 1, behind},
          {first + 2, last}};
}

class Definition {
 public:
  Definition(const Arguments& arguments, LightFieldPlan plan)
      : views_(arguments.array("views")),
        plan_(std::move(plan)),
        bits_(views_.element == Element::u8 ? 7 : 12) {}

  double result(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return views_.element == Element::f32 ? float_result(plane, y, x, c) : whole_result(plane, y, x, c);
  }

 private:
  std::vector<Weighted> rows_of(const WeightedView& view, std::int64_t plane) const {
    return weights_of(
        std::ldexp(static_cast<double>(view.row * (1 << place_bits) - plan_.centre_row), -place_bits),
        slope(plane), bits_, plan_.between);
  }
  std::vector<Weighted> cols_of(const WeightedView& view, std::int64_t plane) const {
    return weights_of(
        std::ldexp(static_cast<double>(view.col * (1 << place_bits) - plan_.centre_col), -place_bits),
        slope(plane), bits_, plan_.between);
  }
  double slope(std::int64_t plane) const { return std::ldexp(plan_.slope[plane], -place_bits); }

  double sample(const WeightedView& view, std::int64_t y, std::int64_t x, std::int64_t c) const {
    const std::int64_t row = folded(y, views_.extents[2], plan_.border),
                       col = folded(x, views_.extents[3], plan_.border);
    if (row < 0 || col < 0) return 0;
    return sample_at(views_, {view.row, view.col, row, col, c});
  }

  double whole_result(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t c) const {
    std::int64_t sum = 0, weights = 0;
    for (int v = 0; v < plan_.count; ++v) {
      weights += plan_.view[v].weight;
      for (const auto& [up, row_weight] : rows_of(plan_.view[v], plane))
        for (const auto& [right, col_weight] : cols_of(plan_.view[v], plane))
          sum += plan_.view[v].weight * row_weight * col_weight *
                 static_cast<std::int64_t>(sample(plan_.view[v], y + up, x + right, c));
    }
    const std::int64_t whole = weights << (2 * bits_);
    const std::int64_t most = views_.element == Element::u8 ? 255 : 65535;
    return static_cast<double>(sum < 0 ? 0 : std::min(most, (2 * sum + whole) / (2 * whole)));
  }

  // For each row of the grid and each of its vertical taps: the sum over the row's views first, then its
  // weighted addition to the total.
  double float_result(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t c) const {
    float sum = 0, weights = 0;
    const float unit = std::ldexp(1.0f, -bits_);
    for (int first = 0, end = 0; first < plan_.count; first = end) {
      while (end < plan_.count && plan_.view[end].row == plan_.view[first].row) ++end;
      for (const auto& [up, row_weight] : rows_of(plan_.view[first], plane)) {
        if (row_weight == 0) continue;
        float along = 0;
        for (int v = first; v < end; ++v)
          for (const auto& [right, col_weight] : cols_of(plan_.view[v], plane))
            if (col_weight != 0)
              along =
                  std::fma(static_cast<float>(col_weight) * unit * static_cast<float>(plan_.view[v].weight),
                           static_cast<float>(sample(plan_.view[v], y + up, x + right, c)), along);
        sum = std::fma(static_cast<float>(row_weight) * unit, along, sum);
      }
      for (int v = first; v < end; ++v) weights += static_cast<float>(plan_.view[v].weight);
    }
    return sum / weights;
  }

  const ArrayView& views_;
  LightFieldPlan plan_;
  int bits_;
};

// Counts two operations for each sample that is read.
double flops(const Arguments& arguments, const LightFieldPlan& plan, const std::string& output) {
  const double taps = plan.between == Interpolation::nearest  ? 1
                      : plan.between == Interpolation::linear ? 4
                                                              : 16;
  return 2 * taps * plan.count * static_cast<double>(arguments.array(output).count());
}

}  // namespace

std::int64_t in_places(double value) {
  return static_cast<std::int64_t>(std::floor(value * place_unit + 0.5));
}

void set_slopes(LightFieldPlan& plan, const std::vector<double>& slopes) {
  constexpr double steepest = 1024;
  if (slopes.size() > max_slopes)
    throw Error(std::to_string(slopes.size()) + " slopes are more than " + std::to_string(max_slopes) +
                " in one call");
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (!(std::fabs(slopes[i]) <= steepest))
      throw Error(fmt::format("a slope of {:.9g} pixels per view is beyond ±1024", slopes[i]));
    plan.slope[i] = static_cast<std::int32_t>(in_places(slopes[i]));
    plan.min_slope = i == 0 ? plan.slope[i] : std::min(plan.min_slope, plan.slope[i]);
    plan.max_slope = i == 0 ? plan.slope[i] : std::max(plan.max_slope, plan.slope[i]);
  }
}

LightFieldPlan begin_plan(const Arguments& arguments) {
  constexpr std::int64_t longest = std::int64_t{1} << 26, max_places = 4096;
  for (const char* name : {"rows", "cols"}) {
    require_at_most(arguments, name, max_places);
    if (arguments.dim(name) < 1) throw Error("views is a grid without a view");
  }
  require_at_most(arguments, "height", longest);
  require_at_most(arguments, "width", longest);
  require_at_most(arguments, "channels", longest / std::max<std::int64_t>(1, arguments.dim("width")));
  LightFieldPlan out;
  const std::string& between = arguments.text("interpolation");
  out.between = between == "nearest"  ? Interpolation::nearest
                : between == "linear" ? Interpolation::linear
                                      : Interpolation::cubic;
  out.border = border_named(arguments.text("border"));
  set_centre(out, arguments);
  return out;
}

void add_view(LightFieldPlan& plan, std::int64_t row, std::int64_t col, std::int64_t weight) {
  if (weight == 0) return;
  if (plan.count == max_views) throw Error("more than " + std::to_string(max_views) + " views in one result");
  plan.view[plan.count++] = {static_cast<std::int16_t>(row), static_cast<std::int16_t>(col),
                             static_cast<std::int32_t>(weight)};
}

void end_plan(LightFieldPlan& plan) {
  if (plan.count == 0)
    throw Error("no view has a weight: the aperture is smaller than the way to the nearest view");
  plan.equal = true;
  plan.min_col = plan.max_col = plan.view[0].col;
  for (int i = 0; i < plan.count; ++i) {
    plan.all_weights += plan.view[i].weight;
    plan.min_col = std::min<int>(plan.min_col, plan.view[i].col);
    plan.max_col = std::max<int>(plan.max_col, plan.view[i].col);
    plan.equal = plan.equal && plan.view[i].weight == 1;
  }
}

void set_checks(Operation& operation, LightFieldPlan (*plan_of)(const Arguments&),
                std::function<void(const Arguments&)> compute) {
  const std::string output = operation.output;
  operation.elements = {Element::u8, Element::u16, Element::f32};
  operation.flops = [=](const Arguments& arguments) { return flops(arguments, plan_of(arguments), output); };
  operation.fill = [](const Arguments&, const std::string&, Distribution distribution, std::uint64_t seed,
                      const ArrayView& to) { fill_samples(distribution, seed, to); };
  imaging::set_checks(
      operation, [=](const Arguments& arguments) { return Definition(arguments, plan_of(arguments)); },
      compute);
}

}  // namespace tessera::lightfield
