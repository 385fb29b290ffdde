// SPDX-License-Identifier: Apache-2.0
// Lookup tables for vector sums along rows of bytes: a step shuffles 16 bytes to four neighbouring samples of
// the result, whatever the number of channels.
#pragma once
#include <cstdint>
#include <tuple>
#include <vector>
#include "resize.hpp"

namespace tessera::resizing {

inline constexpr int block_samples = 4, step_bytes = 16;

// Columns first … last − 1, rows begin … end − 1 of picture n's result; `channels` channels of each pixel
// from `channel` on.
struct Strip {
  std::int64_t n;
  int first, last, begin, end;
  int channel, channels;
  bool by_lookup;
};

// The functions of one instruction set.
template <class T>
using OnStrip = void (*)(const Problem<T>&, const Strip&);
using OnStrips = std::tuple<OnStrip<std::uint8_t>, OnStrip<std::uint16_t>, OnStrip<std::int16_t>,
                            OnStrip<f16>, OnStrip<float>>;

// The layout of a step's weights for the two taps that it adds to each sample.
enum class Weights {
  whole,   // 16 bits each, adjacent like their bytes, which are extended with zeros
  digits,  // `whole` twice: the lower 11 bits of all samples of a vector, then the bits above
  floats,  // the first taps of all samples of a vector, then a 256th of the second taps, whose bytes are one
           // higher
};
inline constexpr int digit_bits = 11;

inline std::int32_t low_digit(std::int32_t weight) { return weight & ((1 << digit_bits) - 1); }
inline std::int32_t side_by_side(std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(high) << 16 |
                                   (static_cast<std::uint32_t>(low) & 0xFFFFu));
}

// A pair of vectors is narrowed to one vector of half the bits, in which their blocks alternate.
struct LookupShape {
  int vector_blocks = 1;  // blocks of a vector that sums along rows
  int paired_blocks = 1;  // blocks of a vector that is narrowed: at least as many
};

// Tables by vector, step and block.
struct Lookup {
  int steps = 1;
  std::size_t vectors = 0;
  std::vector<std::int32_t> offset;  // per block: start of its 16 bytes in the row
  std::vector<std::uint8_t> place;   // 16 per block: index of a byte; 128 and more: 0
  std::vector<std::int32_t> weight;
};

// True for sums of plain bytes with weights that fit in the tables.
bool can_look_up(const Problem<std::uint8_t>& p);
Weights weights_of(const ResizePlan& plan);

// Returns the tables of columns first … last − 1, all channels; rows have at least 16 bytes.
Lookup lookup_of(const Problem<std::uint8_t>& p, int first, int last, const LookupShape& shape);

}  // namespace tessera::resizing
