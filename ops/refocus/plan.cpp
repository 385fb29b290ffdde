// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "tessera/core/expression.hpp"

namespace tessera::lightfield {
namespace {

constexpr double place_unit = 1 << place_bits;

void demand_at_most(const Arguments& arguments, const char* name, std::int64_t most) {
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

}  // namespace

std::int64_t in_places(double value) {
  return static_cast<std::int64_t>(std::floor(value * place_unit + 0.5));
}

Centre centre_of(const Arguments& arguments) {
  const std::string& text = arguments.text("at");
  const std::vector<double> at = numbers_of(text);
  if (at.size() != 2 || text.find(':') != std::string::npos)
    throw Error("--at " + text + " should be row,column, as 0.3,0.7");
  const bool grid = arguments.text("units") == "grid";
  return {along(text, at[0], arguments.dim("rows"), grid), along(text, at[1], arguments.dim("cols"), grid)};
}

void set_slopes(Plan& plan, const std::vector<double>& slopes) {
  constexpr double steepest = 1024;
  if (slopes.size() > most_slopes)
    throw Error(std::to_string(slopes.size()) + " slopes are more than " + std::to_string(most_slopes) +
                " in one call");
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (!(std::fabs(slopes[i]) <= steepest)) {
      char text[40];
      std::snprintf(text, sizeof text, "%.9g", slopes[i]);
      throw Error(std::string("a slope of ") + text + " pixels per view is beyond ±1024");
    }
    plan.slope[i] = static_cast<std::int32_t>(in_places(slopes[i]));
    plan.least_slope = i == 0 ? plan.slope[i] : std::min(plan.least_slope, plan.slope[i]);
    plan.most_slope = i == 0 ? plan.slope[i] : std::max(plan.most_slope, plan.slope[i]);
  }
}

Plan begin_plan(const Arguments& arguments) {
  constexpr std::int64_t longest = std::int64_t{1} << 26, most_places = 4096;
  for (const char* name : {"rows", "cols"}) {
    demand_at_most(arguments, name, most_places);
    if (arguments.dim(name) < 1) throw Error("views is a grid without a view");
  }
  demand_at_most(arguments, "height", longest);
  demand_at_most(arguments, "width", longest);
  demand_at_most(arguments, "channels", longest / std::max<std::int64_t>(1, arguments.dim("width")));
  Plan out;
  const std::string& between = arguments.text("interpolation");
  out.between = between == "nearest"  ? Between::nearest
                : between == "linear" ? Between::linear
                                      : Between::cubic;
  out.border = border_named(arguments.text("border"));
  return out;
}

void add_view(Plan& plan, std::int64_t row, std::int64_t col, std::int64_t weight) {
  if (weight == 0) return;
  if (plan.count == most_views)
    throw Error("more than " + std::to_string(most_views) + " views in one result");
  plan.view[plan.count++] = {static_cast<std::int16_t>(row), static_cast<std::int16_t>(col),
                             static_cast<std::int32_t>(weight)};
}

void end_plan(Plan& plan) {
  if (plan.count == 0)
    throw Error("no view has a weight: the aperture is smaller than the way to the nearest view");
  plan.equal = true;
  plan.least_col = plan.most_col = plan.view[0].col;
  for (int i = 0; i < plan.count; ++i) {
    plan.all_weights += plan.view[i].weight;
    plan.least_col = std::min<int>(plan.least_col, plan.view[i].col);
    plan.most_col = std::max<int>(plan.most_col, plan.view[i].col);
    plan.equal = plan.equal && plan.view[i].weight == 1;
  }
}

}  // namespace tessera::lightfield
