// SPDX-License-Identifier: Apache-2.0
// Resizing as products of matrices of bytes: sixteen samples of the result along a row by what they are made
// of, then eight rows of the result. Weights are three signed bytes each, as in packing.hpp.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera::resize {

struct Tiling {
  static constexpr int samples = 16, rows = 8;  // of a tile of the result
  static constexpr int piece = 16;              // bytes of a row, or rows of the picture, of a product
  static constexpr int groups = 3;              // of sixteen rows, that rows of a tile are made of
  static constexpr int lanes = 32, entry = 3 * groups * lanes;

  std::int32_t pieces =
      0;  // of 16 bytes along a row, that samples of a tile are made of; 0: no tiling serves
  std::int32_t weights = 0;  // place in the table: for every eight rows, by digits, by groups, a word a lane
  std::int32_t last = 0;     // place in the table: for every eight rows the last group that they need

  // Row r of a group, which byte `b` of the word of a lane has: rows as they leave the first product.
  static constexpr int row_of(int lane, int b) { return b / 2 * 8 + lane % 4 * 2 + b % 2; }
};

inline constexpr int tiling_forms[] = {4, 5};  // pieces that a kernel is compiled for

struct Plan;

// For a result of width × height, of pixels of so many channels; adds the weights across rows to the table.
Tiling tiling_of(const Plan& plan, int channels, int width, int height, std::vector<std::int32_t>& table);

}  // namespace tessera::resize
