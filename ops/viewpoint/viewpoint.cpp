// SPDX-License-Identifier: Apache-2.0
// New viewpoints as an operation: its arguments, cost, checks and test cases.
#include "viewpoint.hpp"
#include "ops/imaging/light_field_operation.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::viewpoint {
namespace {

using lightfield::LightFieldPlan;

constexpr const char* output_name = "seen";
constexpr int weight_bits = 7;  // fraction bits of a view's weight along each axis of the grid

Signature signature() {
  using namespace parameter;
  Parameter views = input(
      "views", {"rows", "cols", "height", "width", "channels"},
      "pictures of a grid: files by a name with {row} and {col} in it, one picture with --tiles, or .npy");
  Parameter seen = output(output_name, {"1", "height", "width", "channels"}, "what a camera there would see");
  views.picture = seen.picture = Picture::whole;
  Signature out;
  out.parameters = {
      views,
      text("at", "0.5,0.5", "the place in the grid, row,column"),
      choice("units", {"grid", "views"},
             "of --at: from 0, the first view, to 1, the last; or in views, from 0"),
      real("slope", 0,
           "how many pixels further the plane on which the views meet lies from one view to the next"),
      choice("cameras", {"linear", "nearest"}, "between views: the four around, or the one beside"),
      choice("interpolation", {"linear", "nearest", "cubic"}, "between pixels"),
      text("border", "replicate",
           "what lies around a view: constant (0), replicate, reflect, reflect_101 or wrap"),
      seen,
  };
  return out;
}

Case made(std::int64_t rows, std::int64_t cols, std::int64_t height, std::int64_t width,
          std::int64_t channels, Arguments::Words words) {
  return {
      .dims = {{"rows", rows}, {"cols", cols}, {"height", height}, {"width", width}, {"channels", channels}},
      .words = std::move(words)};
}

std::vector<Case> cases() {
  std::vector<Case> out = {
      made(3, 3, 13, 21, 3, {{"at", "0.3,0.7"}}),
      made(3, 3, 13, 21, 3, {{"at", "0.3,0.7"}, {"slope", "1.3"}}),
      made(4, 5, 8, 50, 1, {{"at", "1.25,3.5"}, {"units", "views"}, {"slope", "-2"}, {"border", "reflect"}}),
      made(4, 5, 8, 33, 3,
           {{"at", "1.6,3.4"},
            {"units", "views"},
            {"slope", "0.8"},
            {"cameras", "nearest"},
            {"border", "constant"}}),
      made(2, 2, 9, 37, 4,
           {{"at", "0.9,0.1"}, {"slope", "3.7"}, {"interpolation", "cubic"}, {"border", "wrap"}}),
      made(2, 6, 5, 64, 2, {{"at", "1,0"}, {"slope", "9"}, {"interpolation", "nearest"}}),
      made(1, 1, 6, 7, 3, {{"at", "0,0"}}),
      made(2, 2, 3, 0, 3, {}),
  };
  Case special = made(2, 2, 7, 30, 3, {{"slope", "0.6"}});
  special.distribution = Distribution::special;
  special.elements = {Element::f32};
  out.push_back(special);
  return out;
}

struct Interpolation {
  std::int64_t first = 0, weight[2] = {};
};

// Returns the views on both sides of a place, with weights in units of 2^-7.
Interpolation views_beside(std::int64_t place, bool nearest) {
  constexpr int spare = lightfield::place_bits - weight_bits;
  constexpr std::int64_t one = 1 << weight_bits;
  const std::int64_t rounded = (place + (1 << (spare - 1))) >> spare;
  if (nearest) return {(rounded + one / 2) >> weight_bits, {one, 0}};
  return {rounded >> weight_bits, {one - (rounded & (one - 1)), rounded & (one - 1)}};
}

Operation operation() {
  Operation out;
  out.name = "viewpoint";
  out.summary = "a light field seen from a place between its cameras";
  out.signature = signature();
  out.output = output_name;
  lightfield::set_checks(out, plan_of, lightfield::sum_of<Problem>);
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool viewpoint_registered = (register_operation(operation()), true);

}  // namespace

LightFieldPlan plan_of(const Arguments& arguments) {
  LightFieldPlan out = lightfield::begin_plan(arguments);
  lightfield::set_slopes(out, {arguments.real("slope")});
  const bool nearest = arguments.text("cameras") == "nearest";
  const Interpolation rows = views_beside(out.centre_row, nearest),
                      cols = views_beside(out.centre_col, nearest);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      lightfield::add_view(out, rows.first + i, cols.first + j, rows.weight[i] * cols.weight[j]);
  lightfield::end_plan(out);
  return out;
}

}  // namespace tessera::viewpoint
