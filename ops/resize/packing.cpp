// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include "resize.hpp"

namespace tessera::resize {
namespace {

constexpr std::int64_t most_sum = std::numeric_limits<std::int32_t>::max(), most_byte = 255;

struct Line {
  const std::vector<std::int32_t>& table;
  AxisAt at;
  int results;
  bool even;  // all of one weight

  int start(int i) const { return table[static_cast<std::size_t>(at.start + i)]; }
  int count(int i) const { return table[static_cast<std::size_t>(at.count + i)]; }
  int last(int i) const { return start(i) + count(i) - 1; }
  std::int32_t weight(int i, int k) const {
    return even ? 1
                : table[static_cast<std::size_t>(at.weight) + std::size_t(i) * std::size_t(at.most) +
                        std::size_t(k)];
  }
};

// What the sums of a line come to at most: the weights above 0 of one, and those below, added up.
struct Extremes {
  std::int64_t above = 0, below = 0;  // below: without its sign
  std::int64_t least = 0, most = 0;   // of one weight
  int taps = 0, words = 0;  // words that a sum's samples touch, where words begin at multiples of four
  bool ordered = true;      // later sums begin no earlier, and end no earlier
};

Extremes extremes_of(const Line& line) {
  Extremes out;
  for (int i = 0; i < line.results; ++i) {
    std::int64_t above = 0, below = 0;
    for (int k = 0; k < line.count(i); ++k) {
      const std::int64_t w = line.weight(i, k);
      (w > 0 ? above : below) += w > 0 ? w : -w;
      out.least = std::min(out.least, w), out.most = std::max(out.most, w);
    }
    out.above = std::max(out.above, above), out.below = std::max(out.below, below);
    out.taps = std::max(out.taps, line.count(i));
    out.words = std::max(out.words, line.last(i) / 4 - line.start(i) / 4 + 1);
    out.ordered &= i == 0 || (line.start(i) >= line.start(i - 1) && line.last(i) >= line.last(i - 1));
  }
  return out;
}

// Whether weights are sums of so many signed bytes, each of another place.
bool are_digits(const Extremes& e, int digits) {
  const std::int64_t ones = digits == 3 ? 0x010101 : 0x0101;
  return e.least >= -128 * ones && e.most <= 127 * ones;
}

// Digits may pass 32 bits on the way; what they come to must not.
bool sums_fit(const Plan& plan, Packed kind, const Extremes& along, const Extremes& across) {
  const auto half = [](int shift) { return shift == 0 ? 0 : std::int64_t{1} << (shift - 1); };
  if (kind == Packed::bytes) {
    const auto fits = [&](const Extremes& e) {
      return are_digits(e, 3) && most_byte * std::max(e.above, e.below) + half(22) <= most_sum;
    };
    return plan.along_shift == 22 && plan.across_shift == 22 && fits(along) && fits(across);
  }
  const std::int64_t most_along = most_byte * std::max(along.above, along.below);
  if (kind == Packed::linear)
    return along.least >= 0 && across.least >= 0 && most_along / 16 * across.most <= most_sum;
  const std::int64_t highest = along.above * across.above + along.below * across.below,
                     lowest = along.above * across.below + along.below * across.above;
  return are_digits(along, 2) && most_along <= most_sum &&
         most_byte * std::max(highest, lowest) + half(plan.across_shift) <= most_sum;
}

Packed kind_of(const Plan& plan) {
  if (plan.premultiply || plan.linear_light) return Packed::none;
  switch (plan.recipe) {
    case Recipe::linear:
      return Packed::linear;
    case Recipe::whole:
      return plan.along_shift == 0 ? Packed::whole : Packed::bytes;
    case Recipe::mean:
      return Packed::whole;
    case Recipe::real:
      return Packed::real;
    default:
      return Packed::none;
  }
}

bool serves(const PackedForm& form, const Extremes& along, const Extremes& across) {
  if (form.kind == Packed::linear) return along.taps <= 2 && across.taps <= 2;
  return form.turned ? std::max(along.taps, across.taps) <= 4 * form.words
                     : std::max(along.words, across.words) <= form.words;
}

// Digits by words, the highest first. A turned word ends with the last row; others are words of four rows.
void put_digits(const Line& line, const Packing& packing, int y, std::int32_t* to) {
  const int last = line.last(y), end = packing.turned ? last + 1 : last / 4 * 4 + 4;
  for (int k = 0; k < line.count(y); ++k) {
    const int at = line.start(y) + k - end + 4 * packing.words;
    constexpr std::uint32_t middle = 0x808080;
    const std::uint32_t digits = (static_cast<std::uint32_t>(line.weight(y, k)) + middle) ^ middle;
    for (int d = 0; d < 3; ++d) {
      std::int32_t& word = to[at / 4 * 3 + d];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | (digits >> (16 - 8 * d) & 0xffu)
                                                                              << at % 4 * 8);
    }
  }
}

void put_row(const Line& line, const Packing& packing, int y, std::int32_t* to) {
  const int taps = line.count(y);
  to[packing.entry - 1] = y + 1 < line.results ? line.last(y + 1) : std::numeric_limits<std::int32_t>::max();
  if (packing.kind == Packed::bytes) return put_digits(line, packing, y, to);
  if (packing.kind == Packed::linear) {  // both weights, even where both are of one row
    to[0] = line.weight(y, 0), to[1] = line.weight(y, 1), to[2] = taps == 1;
    return;
  }
  for (int k = 0; k < taps; ++k) to[4 * packing.words - taps + k] = line.weight(y, k);
}

}  // namespace

Packing packing_of(const Plan& plan, int width, int height, std::vector<std::int32_t>& table) {
  const bool even = plan.recipe == Recipe::mean;
  const Line lines{table, plan.along, width, even}, rows{table, plan.across, height, even};
  const Packed kind = kind_of(plan);
  if (kind == Packed::none) return {};
  const Extremes along = extremes_of(lines), across = extremes_of(rows);
  if (!along.ordered || !across.ordered) return {};
  if (kind != Packed::real && !sums_fit(plan, kind, along, across)) return {};
  const auto* const form = std::ranges::find_if(
      packed_forms, [&](const PackedForm& f) { return f.kind == kind && serves(f, along, across); });
  if (form == std::end(packed_forms)) return {};
  Packing out{kind, form->words, form->turned, 0, 0};
  const int used = kind == Packed::bytes ? 3 * form->words : kind == Packed::linear ? 3 : 4 * form->words;
  out.entry = (used + 4) / 4 * 4;
  const std::size_t begin = (table.size() + 3) / 4 * 4;
  out.rows = static_cast<std::int32_t>(begin);
  table.resize(begin + static_cast<std::size_t>(height) * static_cast<std::size_t>(out.entry));
  for (int y = 0; y < height; ++y)
    put_row(rows, out, y,
            table.data() + begin + static_cast<std::size_t>(y) * static_cast<std::size_t>(out.entry));
  return out;
}

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
