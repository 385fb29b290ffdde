// SPDX-License-Identifier: Apache-2.0
// Which views of a light field are gathered, with which weights, and how far each is shifted: what refocusing
// and new viewpoints have in common. The types are the same for every build of a kernel; docs/lightfield.md
// has the formulas.
#pragma once
#include <cstdint>
#include <string>
#include "tessera/core/arguments.hpp"
#include "tessera/core/border.hpp"

namespace tessera::lightfield {

inline constexpr int most_views = 1024, most_slopes = 256;
inline constexpr int place_bits = 16;  // places in the grid and slopes are whole multiples of 2^-16

enum class Between : int { nearest, linear, cubic };

struct WeightedView {
  std::int16_t row = 0, col = 0;
  std::int32_t weight = 0;
};

struct Plan {
  int count = 0;  // of views, in the order of rows, then columns
  WeightedView view[most_views];
  std::int32_t all_weights = 0;
  bool equal = false;                           // every weight is 1
  std::int64_t centre_row = 0, centre_col = 0;  // the place that is not shifted, in 2^-16 of a view
  int least_col = 0, most_col = 0;              // of the views
  std::int32_t least_slope = 0, most_slope = 0;
  std::int32_t slope[most_slopes] = {};  // of each plane, in 2^-16 pixels per view
  Between between = Between::linear;
  Border border = Border::replicate;
};

// A place in the grid.
struct Centre {
  std::int64_t row = 0, col = 0;  // in 2^-16 of a view
};

// "0.3,0.7" in the words `at` and `units`: from 0, the first view, to 1, the last, or in views.
Centre centre_of(const Arguments& arguments);
std::int64_t in_places(double value);  // rounded to 2^-16, halves upwards

void set_slopes(Plan& plan, const std::vector<double>& slopes);
// What both operations are told alike: interpolation, border; holds the views' size against what a plan can.
Plan begin_plan(const Arguments& arguments);
void add_view(Plan& plan, std::int64_t row, std::int64_t col, std::int64_t weight);  // none of weight 0
void end_plan(Plan& plan);

}  // namespace tessera::lightfield
