// SPDX-License-Identifier: Apache-2.0
// Refocusing as an operation: its arguments, cost, checks, test cases, and partition over several devices.
#include "refocus.hpp"
#include <fmt/format.h>
#include <cmath>
#include "ops/imaging/light_field_operation.hpp"
#include "tessera/core/device/device.hpp"
#include <algorithm>
#include <memory>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/text/expression.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::refocus {
namespace {

using lightfield::LightFieldPlan;

constexpr const char* output_name = "refocused";

// Returns the weight of a view at the offset (up, right) from the centre, in 2^-16 of a view.
std::int64_t weight_of(const std::string& aperture, std::int64_t up, std::int64_t right, double radius) {
  constexpr double most = 255;
  if (aperture == "mean") return 1;
  constexpr double beyond_any_grid = 40000;  // its square in units of 2^-32 fits in 64 bits
  const std::int64_t square = up * up + right * right,
                     reach = lightfield::in_places(std::min(radius, beyond_any_grid));
  if (aperture == "disc") return square <= reach * reach ? 1 : 0;
  if (square == 0)
    return static_cast<std::int64_t>(most);  // avoids 0/0 if the square of the radius underflows
  const double views = std::ldexp(static_cast<double>(square), -2 * lightfield::place_bits);
  return static_cast<std::int64_t>(std::floor(most * std::exp(-views / (2 * radius * radius)) + 0.5));
}

double radius_of(const Arguments& arguments) {
  const double given = arguments.real("radius");
  if (given != 0) return given;
  const double most = static_cast<double>(std::max(arguments.dim("rows"), arguments.dim("cols")) - 1) / 2;
  return std::max(1.0, arguments.text("aperture") == "disc" ? most : most / 2);
}

std::vector<double> slopes_of(const Arguments& arguments) {
  const std::vector<double> several = numbers_of(arguments.text("slopes"));
  if (several.empty()) return {arguments.real("slope")};
  if (arguments.real("slope") != 0)
    throw Error("--slope is for one plane, --slopes for several: give one of them");
  return several;
}

Signature signature() {
  using namespace parameter;
  Parameter views = input(
      "views", {"rows", "cols", "height", "width", "channels"},
      "pictures of a grid: files by a name with {row} and {col} in it, one picture with --tiles, or .npy");
  Parameter refocused =
      output(output_name, {"count(slopes)", "height", "width", "channels"}, "a picture for each slope");
  views.picture = refocused.picture = Picture::whole;
  Signature out;
  out.parameters = {
      views,
      real("slope", 0,
           "how many pixels a view is shifted for each view that it stands from the centre: the plane in "
           "focus"),
      text("slopes", "", "several planes: a list, or a:b:n for n slopes from a to b"),
      choice("aperture", {"mean", "weighted", "disc"},
             "what views count: all alike, less with their distance, or those within --radius"),
      real("radius", 0,
           "in views: of the disc, or where a weight has fallen to 0.6; 0: half the grid, of weights a "
           "quarter"),
      text("at", "0.5,0.5", "the aperture's centre in the grid, row,column"),
      choice("units", {"grid", "views"},
             "of --at: from 0, the first view, to 1, the last; or in views, from 0"),
      choice("interpolation", {"linear", "nearest", "cubic"}, "between pixels"),
      text("border", "replicate",
           "what lies around a view: constant (0), replicate, reflect, reflect_101 or wrap"),
      refocused,
  };
  for (Parameter& p : out.parameters)
    if (p.name == "radius") p.minimum = 0;
  return out;
}

Case made(Dims dims, Arguments::Words words = {}) {
  return {.dims = std::move(dims), .words = std::move(words)};
}

Dims grid(std::int64_t rows, std::int64_t cols, std::int64_t height, std::int64_t width,
          std::int64_t channels) {
  return {{"rows", rows}, {"cols", cols}, {"height", height}, {"width", width}, {"channels", channels}};
}

std::vector<Case> cases() {
  std::vector<Case> out = {
      made(grid(3, 3, 13, 21, 3), {{"slope", "1"}}),
      made(grid(3, 2, 9, 40, 3), {{"slope", "-0.7"}}),
      made(grid(5, 4, 8, 37, 3), {{"slopes", "-1.3:1.9:5"}}),
      made(grid(2, 3, 11, 70, 1), {{"slope", "2.5"}, {"interpolation", "nearest"}, {"border", "reflect"}}),
      made(grid(3, 3, 7, 33, 1), {{"slope", "0.4"}, {"interpolation", "cubic"}, {"border", "wrap"}}),
      made(grid(4, 4, 6, 19, 3),
           {{"slopes", "0.3,-1.25"}, {"interpolation", "cubic"}, {"border", "constant"}}),
      made(grid(5, 5, 9, 23, 3), {{"slope", "1.1"}, {"aperture", "weighted"}, {"radius", "1.2"}}),
      made(grid(5, 5, 10, 48, 3),
           {{"slope", "0.9"}, {"aperture", "disc"}, {"radius", "1.5"}, {"border", "reflect_101"}}),
      made(grid(3, 4, 8, 31, 4), {{"slope", "0.5"}, {"at", "0.2,0.9"}}),
      made(grid(3, 4, 8, 17, 2),
           {{"slope", "-3"}, {"at", "2,0"}, {"units", "views"}, {"border", "constant"}}),
      made(grid(1, 1, 5, 9, 1), {{"slope", "7"}}),
      made(grid(1, 7, 4, 64, 3), {{"slope", "40"}}),
      made(grid(6, 1, 30, 50, 3), {{"slope", "1.75"}, {"border", "constant"}}),
      made(grid(2, 2, 1, 1, 3), {{"slope", "0.5"}, {"border", "reflect_101"}}),
      made(grid(2, 2, 0, 6, 3)),
      made(grid(3, 5, 12, 100, 3), {{"slopes", "-2:2:9"}}),
      made(grid(4, 3, 9, 67, 3), {{"slope", "1.3"}}),
      made(grid(2, 3, 10, 400, 1), {{"slopes", "-0.6:1.1:5"}}),
      made(grid(3, 3, 7, 101, 2), {{"slopes", "0.8,-2"}, {"interpolation", "nearest"}, {"border", "wrap"}}),
  };
  Case special = made(grid(3, 3, 7, 30, 3), {{"slope", "0.6"}});
  special.distribution = Distribution::special;
  special.elements = {Element::f32};
  out.push_back(special);
  return out;
}

// Returns the planes of a plan, in the form of the option --slopes.
std::string slopes_text(const lightfield::LightFieldPlan& plan, Interval planes) {
  std::string out;
  for (std::int64_t i = planes.first; i < planes.last; ++i) {
    // Multiples of 2^-16 are exact with 16 decimals.
    out +=
        fmt::format("{}{:.16f}", out.empty() ? "" : ",", std::ldexp(plan.slope[i], -lightfield::place_bits));
  }
  return out;
}

Slice views_of(const Arguments& arguments) {
  Slice out{"views", {}};
  for (const std::int64_t extent : arguments.array("views").extents) out.box.push_back({0, extent});
  return out;
}

Slice written(const Arguments& arguments, const Tile& tile) {
  const Extents& e = arguments.array("refocused").extents;
  return {"refocused", {tile.rows, {0, e[1]}, {0, e[2]}, {0, e[3]}}};
}

Arguments part(const Arguments& whole, const lightfield::LightFieldPlan& plan, const Tile& tile) {
  Arguments::Words words = whole.words();
  words["slope"] = "0";
  words["slopes"] = slopes_text(plan, tile.rows);
  Arguments out(whole.signature(), whole.element(), {{"views", whole.array("views")}}, words);
  out.set_array("refocused", part_of(whole.array("refocused"), written(whole, tile).box));
  return out;
}

// The partition is by planes, each of which needs every view.
Partition divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  const auto plan = std::make_shared<const lightfield::LightFieldPlan>(plan_of(arguments));
  Partition out;
  out.rows = arguments.array("refocused").extents[0];
  if (out.rows < 2)
    throw Error("one plane is refocused on one device; several devices share --slopes, a plane each");
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double each = find_operation("refocus")->flops(arguments) / static_cast<double>(out.rows);
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  out.reads = [whole](const Tile&) { return std::vector<Slice>{views_of(*whole)}; };
  out.writes = [whole](const Tile& tile) { return std::vector<Slice>{written(*whole, tile)}; };
  out.part = [whole, plan](const Tile& tile) { return part(*whole, *plan, tile); };
  return out;
}

Operation operation() {
  Operation out;
  out.name = "refocus";
  out.summary = "a light field focused on a plane, or on many";
  out.signature = signature();
  out.output = output_name;
  lightfield::set_checks(out, plan_of, lightfield::sum_of<Problem>);
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool refocus_registered =
    (register_operation(operation()), register_partition("refocus", divide), true);

}  // namespace

LightFieldPlan plan_of(const Arguments& arguments) {
  LightFieldPlan out = lightfield::begin_plan(arguments);
  lightfield::set_slopes(out, slopes_of(arguments));
  const std::string& aperture = arguments.text("aperture");
  require_option_used(arguments, "radius", aperture != "mean", "--aperture weighted or disc");
  const double radius = radius_of(arguments);
  constexpr std::int64_t view = std::int64_t{1} << lightfield::place_bits;
  for (std::int64_t row = 0; row < arguments.dim("rows"); ++row)
    for (std::int64_t col = 0; col < arguments.dim("cols"); ++col)
      lightfield::add_view(
          out, row, col,
          weight_of(aperture, row * view - out.centre_row, col * view - out.centre_col, radius));
  lightfield::end_plan(out);
  return out;
}

}  // namespace tessera::refocus
