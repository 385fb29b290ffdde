// SPDX-License-Identifier: Apache-2.0
#include "tiling.hpp"
#include <algorithm>
#include "setting.hpp"

namespace tessera::resize {
namespace {

constexpr int most_height = 1 << 17;  // beyond it the table would be large

class Axis16 {
 public:
  Axis16(const AxisAt& axis, const std::vector<std::int32_t>& table) : axis_(axis), table_(table) {}
  int first(int i) const { return table_[place(axis_.start, i)]; }
  int last(int i) const { return first(i) + table_[place(axis_.count, i)] - 1; }
  std::int32_t weight(int i, int sample) const {
    return sample < first(i) || sample > last(i)
               ? 0
               : table_[place(axis_.weight, i * axis_.most + sample - first(i))];
  }

 private:
  static std::size_t place(std::int32_t at, int i) { return static_cast<std::size_t>(at + i); }
  AxisAt axis_;
  const std::vector<std::int32_t>& table_;
};

// Pieces from a multiple of four bytes on, in which all is that sixteen samples are made of.
int pieces_of(const Axis16& along, int channels, int width) {
  int most = 0;
  for (int first = 0; first < width * channels; first += Tiling::samples) {
    const int end = std::min(first + Tiling::samples, width * channels) - 1;
    const int begin = along.first(first / channels) * channels & ~3;
    most = std::max(most, (along.last(end / channels) + 1) * channels - begin);
  }
  return (most + Tiling::piece - 1) / Tiling::piece;
}

// The words of one tile's rows, from `row` on.
void put_entry(const Axis16& across, int row, int height, int last, std::int32_t* to) {
  for (int group = 0; group < Tiling::groups; ++group)
    for (int lane = 0; lane < Tiling::lanes; ++lane)
      for (int b = 0; b < 4; ++b) {
        const int y = row + lane / 4,
                  from = (last - Tiling::groups + 1 + group) * Tiling::piece + Tiling::row_of(lane, b);
        if (y >= height) continue;
        constexpr std::uint32_t middle = 0x808080;
        const std::uint32_t digits = (static_cast<std::uint32_t>(across.weight(y, from)) + middle) ^ middle;
        for (int d = 0; d < 3; ++d) {
          std::int32_t& word = to[(d * Tiling::groups + group) * Tiling::lanes + lane];
          word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | (digits >> (16 - 8 * d) & 0xffu)
                                                                                  << 8 * b);
        }
      }
}

}  // namespace

Tiling tiling_of(const Plan& plan, int channels, int width, int height, std::vector<std::int32_t>& table) {
  // Sums of eight samples and fewer are faster with samples four to a word.
  constexpr int most_words = 2;
  if (plan.packing.kind != Packed::bytes || plan.packing.words <= most_words || height > most_height)
    return {};
  Tiling out;
  {
    const Axis16 along(plan.along, table), across(plan.across, table);
    const int pieces = pieces_of(along, channels, width);
    const auto* const form = std::ranges::find_if(tiling_forms, [&](int f) { return f >= pieces; });
    if (form == std::end(tiling_forms)) return {};
    for (int row = 0; row < height; row += Tiling::rows)
      if (across.last(std::min(row + Tiling::rows, height) - 1) / Tiling::piece -
              across.first(row) / Tiling::piece >=
          Tiling::groups)
        return {};
    out.pieces = *form;
  }
  const int tiles = (height + Tiling::rows - 1) / Tiling::rows;
  out.last = static_cast<std::int32_t>(table.size());
  out.weights = out.last + tiles;
  table.resize(table.size() + static_cast<std::size_t>(tiles) * (1 + Tiling::entry));
  const Axis16 across(plan.across, table);
  for (int tile = 0; tile < tiles; ++tile) {
    const int row = tile * Tiling::rows, end = std::min(row + Tiling::rows, height),
              last = across.last(end - 1) / Tiling::piece;
    table[static_cast<std::size_t>(out.last + tile)] = last;
    put_entry(across, row, height, last,
              table.data() + out.weights + static_cast<std::size_t>(tile) * Tiling::entry);
  }
  return out;
}

}  // namespace tessera::resize
