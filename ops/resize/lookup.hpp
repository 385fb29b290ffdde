// SPDX-License-Identifier: Apache-2.0
// How vectors take the bytes of a row to the sums that they belong to: four neighbouring samples of the
// result are made from 16 bytes a step, whatever the number of channels.
#pragma once
#include <cstdint>
#include <vector>
#include "resize.hpp"

namespace tessera::resizing {

inline constexpr int block_samples = 4, step_bytes = 16;

// Columns first to last, rows begin to end of the result of picture n; of each pixel so many channels.
struct Strip {
  std::int64_t n;
  int first, last, begin, end;
  int channel, channels;
  bool by_lookup;
};

// What a step's weights are, of the two taps that it brings to each sample.
enum class Weights {
  whole,   // 16 bits each, side by side, as their bytes are, each with a 0 behind it
  digits,  // the same twice: the lower 11 bits of all samples of a vector, then what is above them
  floats,  // the first taps of all samples of a vector, then a 256th of the second, whose byte is behind the
           // first
};
inline constexpr int digit_bits = 11;

// Vectors come in pairs that are to become one of half the bits: their blocks take turns in it.
struct LookupShape {
  int vector_blocks = 1;  // of vectors that sum along rows
  int paired_blocks = 1;  // of those that come in pairs: as many or more
};

// Steps of vectors, of each step its blocks.
struct Lookup {
  int steps = 1;
  std::size_t vectors = 0;
  std::vector<std::int32_t> offset;  // of each block: where its 16 bytes begin in the row
  std::vector<std::uint8_t> place;   // 16 of each: which byte comes here, from 128 on a 0
  std::vector<std::int32_t> weight;
};

// Bytes as they are, with weights that the tables hold.
bool can_look_up(const Problem<std::uint8_t>& p);
Weights weights_of(const ResizePlan& plan);

// Of columns first … last − 1, all channels; rows have at least 16 bytes.
Lookup lookup_of(const Problem<std::uint8_t>& p, int first, int last, const LookupShape& shape);

}  // namespace tessera::resizing
