// SPDX-License-Identifier: Apache-2.0
// How sums are taken where samples stay packed in words: which kind of sum serves, and the weights across
// rows as such sums want them, a few words for each row of the result.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera::resize {

enum class Packed : int {
  none,    // they cannot be
  bytes,   // whole weights, rows of sums rounded to bytes: Pillow's
  whole,   // whole weights, sums of rows whole: OpenCV's, and means
  linear,  // OpenCV's linear
  real,    // floats
};

struct Packing {
  Packed kind = Packed::none;
  std::int32_t words = 0;  // of four weights
  bool turned = false;     // samples are moved until the first is a word's first; else the weights are
  std::int32_t rows = 0;   // place in the table of the weights across rows, a multiple of four
  std::int32_t entry =
      0;  // words for each row, a multiple of four; the last is the last row of the next row's sum
};

// What the kernels for packed samples are compiled for: the first form that serves is taken.
struct PackedForm {
  Packed kind;
  int words;
  bool turned;
};
inline constexpr PackedForm packed_forms[] = {
    {Packed::bytes, 1, true},  {Packed::bytes, 2, true},  {Packed::bytes, 3, false}, {Packed::bytes, 3, true},
    {Packed::bytes, 4, false}, {Packed::bytes, 6, false}, {Packed::whole, 1, true},  {Packed::whole, 2, true},
    {Packed::linear, 1, true}, {Packed::real, 1, true},   {Packed::real, 2, true}};

struct Plan;

// For a picture of bytes, `width` times `height` the result's size; adds the weights across rows to the
// table.
Packing packing_of(const Plan& plan, int width, int height, std::vector<std::int32_t>& table);

}  // namespace tessera::resize
