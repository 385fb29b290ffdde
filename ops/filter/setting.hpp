// SPDX-License-Identifier: Apache-2.0
// What the words of a call ask for, as the rungs take it: weights, border, what becomes of a sum. The types
// are the same for every build of a kernel; what computes with them is in sample.hpp.
#pragma once
#include <cstdint>
#include <memory>
#include "tessera/core/arguments.hpp"
#include "tessera/core/border.hpp"

namespace tessera::filter {

inline constexpr int most_taps = 31;  // along an axis

// Whole weights are kept as integers, others as a float's bits.
struct Taps {
  int rows = 1, cols = 1;
  int above = 0, left = 0;  // taps above and to the left of the sample itself
  bool whole = false;       // integers are summed
  bool separable = false;   // weight = column × row: sums along rows come first
  bool narrow = false;      // 16 bits hold every sum, of a part of the taps too, with the offset
  bool bytes = false;       // separable: bytes hold the weights, 16 bits every sum of bytes along a row
  std::int32_t weight[most_taps * most_taps] = {};  // row after row, `cols` in each
  std::int32_t column[most_taps] = {}, row[most_taps] = {};
};

// What becomes of a sum before it is stored.
struct Finish {
  bool absolute = false;
  bool whole = false;                // whole numbers to the end: no factor, and a whole offset
  std::int32_t shift = 0, half = 0;  // of whole sums: so many places are rounded off, a half upwards
  std::int32_t whole_offset = 0;
  bool scaled = false;  // else: times `scale`, plus `offset`, in one rounding
  float scale = 1, offset = 0;
};

struct Setting {
  Taps taps;
  Finish finish;
  Border border = Border::reflect_101;
  double outside = 0;  // what a constant border holds: a number that the samples' type has
  std::int64_t roi_x = 0, roi_y = 0;
  Element to = Element::u8;
};

// Throws Error for words that ask for nothing that can be computed.
std::shared_ptr<const Setting> setting_of(const Arguments& arguments);

// The element of the result.
Element element_of_result(Element element, const Arguments::Words& words);

}  // namespace tessera::filter
