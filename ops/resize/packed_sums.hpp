// SPDX-License-Identifier: Apache-2.0
// The sums of one column of the result that a thread keeps on its way down a strip: the weights along rows
// and the sums of the last rows.
//
// Each type has
//   begin(p, first, taps, weight)   the column's samples and weights
//   add(four)                       adjacent words of the next four rows
//   result(p, entry, r)             the sum of the rows that end with row r of those four
// A weight of up to 24 bits is a sum of digits (signed bytes): one instruction computes four products of a
// digit.
#pragma once
#include "ops/imaging/samples.hpp"
#include "resize.hpp"
#include "tessera/byte_matrices.hpp"

namespace tessera::resizing {
inline namespace TESSERA_UNIT {

using BytesProblem = Problem<std::uint8_t>;

// Words of samples: shifted so that the column's first sample starts a word, or as stored.
template <int words, bool is_turned>
struct Samples {
  static constexpr int loads = words + (is_turned ? 1 : 0);
  std::uint32_t places;

  SIMT void begin(int first) { places = places_from(first & 3); }
  SIMT std::uint32_t word(const Bytes16 (&four)[loads], int i, int r) const {
    if constexpr (is_turned) return permuted(four[i].word[r], four[i + 1].word[r], places);
    else return four[i].word[r];
  }
  SIMT static int tap(int first, int i, int b) { return 4 * i + b - (is_turned ? 0 : first & 3); }
};

// Returns digit d of a weight, the highest first: -128 … 127.
template <int digits>
SIMT std::uint32_t digit_of(std::int32_t weight, int d) {
  constexpr std::uint32_t middle = digits == 3 ? 0x808080u : 0x8080u;
  return ((static_cast<std::uint32_t>(weight) + middle) ^ middle) >> 8 * (digits - 1 - d) & 255u;
}

// Weights along rows, by digits, and their sums.
template <int words, bool is_turned, int digits>
struct DigitSums {
  Samples<words, is_turned> samples;
  std::uint32_t weight[words][digits];

  template <class Weight>
  SIMT void begin(int first, int taps, const Weight& weight_of) {
    samples.begin(first);
    SIMT_UNROLL
    for (int i = 0; i < words; ++i) {
      SIMT_UNROLL
      for (int d = 0; d < digits; ++d) weight[i][d] = 0;
      SIMT_UNROLL
      for (int b = 0; b < 4; ++b) {
        const int k = samples.tap(first, i, b);
        const std::int32_t one = k >= 0 && k < taps ? weight_of(k) : 0;
        SIMT_UNROLL
        for (int d = 0; d < digits; ++d) weight[i][d] |= digit_of<digits>(one, d) << 8 * b;
      }
    }
  }

  template <class Four>
  SIMT std::uint32_t sum(const Four& four, int r, std::uint32_t sum) const {
    std::uint32_t word[words];
    SIMT_UNROLL
    for (int i = 0; i < words; ++i) word[i] = samples.word(four, i, r);
    SIMT_UNROLL
    for (int d = 0; d < digits; ++d) {
      if (d > 0) sum = times_256(sum);
      SIMT_UNROLL
      for (int i = 0; i < words; ++i) sum = signed_dot4(word[i], weight[i][d], sum);
    }
    return sum;
  }
};

constexpr int rounded_bits = 22;                                       // fractional bits of Pillow's sums
constexpr std::uint32_t rounded_half = 1u << (rounded_bits - 1 - 16);  // in units of the highest digit

// Pillow's sums: row sums are rounded to bytes, four rows to a word.
template <int words, bool is_turned>
struct ByteColumn {
  static constexpr int loads = Samples<words, is_turned>::loads, entry_words = (3 * words + 4) / 4;
  static constexpr bool ends_anywhere = true;  // true: r of result() may be a run-time value

  DigitSums<words, is_turned, 3> along;
  std::uint32_t rows[loads];  // the last word has the last four rows

  SIMT void begin(const BytesProblem&, int first, int taps, const std::int32_t* weight) {
    along.begin(first, taps, [&](int k) { return weight[k]; });
    SIMT_UNROLL
    for (int i = 0; i < loads; ++i) rows[i] = 0;
  }

  SIMT static std::int32_t whole(std::uint32_t sum) { return static_cast<std::int32_t>(sum) >> rounded_bits; }

  SIMT void add(const BytesProblem&, const Bytes16 (&four)[loads]) {
    std::int32_t sum[4];
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) sum[r] = whole(along.sum(four, r, rounded_half));
    SIMT_UNROLL
    for (int i = 0; i + 1 < loads; ++i) rows[i] = rows[i + 1];
    rows[loads - 1] = packed_bytes(sum[0], sum[1], packed_bytes(sum[2], sum[3], 0));
  }

  SIMT std::uint32_t result(const BytesProblem&, const Bytes16 (&entry)[entry_words], int r) const {
    std::uint32_t word[words], sum = rounded_half;
    const std::uint32_t places = places_from(r + 1);
    SIMT_UNROLL
    for (int i = 0; i < words; ++i)
      word[i] = is_turned ? permuted(rows[i], rows[loads - words + i], places) : rows[i];
    SIMT_UNROLL
    for (int d = 0; d < 3; ++d) {
      if (d > 0) sum = times_256(sum);
      SIMT_UNROLL
      for (int i = 0; i < words; ++i)
        sum = signed_dot4(word[i], entry[(3 * i + d) / 4].word[(3 * i + d) % 4], sum);
    }
    return packed_bytes(whole(sum), 0, 0);
  }
};

// The row sums of the last four rows and of the taps − 1 rows before them.
template <class A, int taps>
struct LastRows {
  A row[taps + 3];
  SIMT void begin() {
    SIMT_UNROLL
    for (int i = 0; i < taps + 3; ++i) row[i] = 0;
  }
  SIMT void move_up() {
    SIMT_UNROLL
    for (int i = 0; i < taps - 1; ++i) row[i] = row[i + 4];
  }
};

// OpenCV's cubic and Lanczos, and means: row sums are kept in full.
template <int words>
struct WholeColumn {
  static constexpr int loads = words + 1, taps = 4 * words, entry_words = words + 1;
  static constexpr bool ends_anywhere = false;

  DigitSums<words, true, 2> along;
  LastRows<std::int32_t, taps> last;

  SIMT void begin(const BytesProblem& p, int first, int count, const std::int32_t* weight) {
    const bool even = p.plan.recipe == Recipe::mean;
    along.begin(first, count, [&](int k) { return even ? 1 : weight[k]; });
    last.begin();
  }

  SIMT void add(const BytesProblem&, const Bytes16 (&four)[loads]) {
    last.move_up();
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) last.row[taps - 1 + r] = static_cast<std::int32_t>(along.sum(four, r, 0));
  }

  SIMT std::uint32_t result(const BytesProblem& p, const Bytes16 (&entry)[entry_words], int r) const {
    std::int32_t sum = 0;
    SIMT_UNROLL
    for (int k = 0; k < taps; ++k)
      sum += static_cast<std::int32_t>(entry[k / 4].word[k % 4]) * last.row[r + k];
    return p.sample(sum);
  }
};

// OpenCV's linear: two taps; each row sum drops its lowest four bits.
struct LinearColumn {
  static constexpr int loads = 2, entry_words = 1;
  static constexpr bool ends_anywhere = false;

  Samples<1, true> samples;
  std::uint32_t weights;  // 16 bits each
  LastRows<std::int32_t, 2> last;

  SIMT void begin(const BytesProblem&, int first, int count, const std::int32_t* weight) {
    samples.begin(first);
    weights = static_cast<std::uint32_t>(weight[0]) |
              (count > 1 ? static_cast<std::uint32_t>(weight[1]) << 16 : 0u);
    last.begin();
  }

  SIMT void add(const BytesProblem&, const Bytes16 (&four)[loads]) {
    last.move_up();
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r)
      last.row[1 + r] = static_cast<std::int32_t>(dot2(weights, samples.word(four, 0, r), false, 0) >> 4);
  }

  // Returns linear_pair() of row sums that are already shifted.
  SIMT std::uint32_t result(const BytesProblem&, const Bytes16 (&entry)[entry_words], int r) const {
    const std::int32_t upper = entry[0].word[2] != 0 ? last.row[r + 1] : last.row[r];
    const std::int32_t one = static_cast<std::int32_t>(entry[0].word[0]) * upper,
                       two = static_cast<std::int32_t>(entry[0].word[1]) * last.row[r + 1];
    return packed_bytes(((one >> 16) + (two >> 16) + 2) >> 2, 0, 0);
  }
};

// Floats, each product and each sum rounded. A byte b is loaded as the float 2^23 + b; weight · 2^23 is
// exact, and a fused multiply-add that subtracts it gives weight · b, rounded once. A weight of 0 adds
// nothing.
template <int words>
struct RealColumn {
  static constexpr int loads = words + 1, taps = 4 * words, entry_words = words + 1;
  static constexpr bool ends_anywhere = false;

  Samples<words, true> samples;
  float weight[taps], off[taps];
  LastRows<float, taps> last;

  SIMT void begin(const BytesProblem&, int first, int count, const std::int32_t* weights) {
    samples.begin(first);
    SIMT_UNROLL
    for (int k = 0; k < taps; ++k) {
      weight[k] = k < count ? weight_as<float>(weights[k]) : 0;
      off[k] = weight[k] * -8388608.0f;
    }
    last.begin();
  }

  SIMT void add(const BytesProblem&, const Bytes16 (&four)[loads]) {
    last.move_up();
    SIMT_UNROLL
    for (int r = 0; r < 4; ++r) {
      float sum = 0;
      SIMT_UNROLL
      for (int i = 0; i < words; ++i) {
        const std::uint32_t word = samples.word(four, i, r);
        SIMT_UNROLL
        for (int b = 0; b < 4; ++b) {
          const float product = std::fma(weight[4 * i + b], byte_above(word, b), off[4 * i + b]);
          sum = i + b == 0 ? product : sum + product;
        }
      }
      last.row[taps - 1 + r] = sum;
    }
  }

  SIMT std::uint32_t result(const BytesProblem&, const Bytes16 (&entry)[entry_words], int r) const {
    float sum = 0;
    SIMT_UNROLL
    for (int k = 0; k < taps; ++k) {
      const float product = __builtin_bit_cast(float, entry[k / 4].word[k % 4]) * last.row[r + k];
      sum = k == 0 ? product : sum + product;
    }
    return sample_of<std::uint8_t>(sum);
  }
};

// Sums along a row as matrix products: the weights of sixteen samples of the result times the bytes of a row
// of the picture as stored, whatever the channels.

// The bytes of a row of the picture for a strip of `samples` samples: a multiple of 16, and at least the
// `window` that a tile reads, which includes bytes without a weight.
template <int samples, int window>
struct TileStrip {
  template <class P>
  SIMT static int begin(const P& p, int sample) {
    const int first = p.start(p.plan.along, sample / p.channels()) * p.channels() & ~15,
              latest = p.from_cols() * p.channels() - window;
    return first < latest ? first : latest;
  }
  template <class P>
  SIMT static int bytes(const P& p, int sample) {
    const int all = p.cols() * p.channels(), last = (sample + samples < all ? sample + samples : all) - 1,
              x = last / p.channels();
    const int end = (p.start(p.plan.along, x) + p.count(p.plan.along, x)) * p.channels(),
              count = ((end + 15) & ~15) - begin(p, sample);
    return count > window ? count : window;
  }

  // Requires rows that can be copied by 16 bytes, and strips of at most `line_bytes` bytes.
  template <class P>
  static Reason refuses(const P& p, int line_bytes) {
    if (!p.packed()) return "is for pixels side by side";
    const auto whole = [](std::int64_t bytes) { return bytes % 16 == 0; };
    if (!whole(std::int64_t{p.from_cols()} * p.channels()) || !whole(p.image.stride[0]) ||
        !whole(p.image.stride[1]) || !whole(reinterpret_cast<std::intptr_t>(p.image.data)))
      return "is for rows that begin and end at multiples of 16 bytes";
    if (p.from_cols() * p.channels() < window)
      return "is for rows of at least " + std::to_string(window) + " bytes";
    for (int sample = 0; sample < p.cols() * p.channels() && p.images() > 0; sample += samples)
      if (bytes(p, sample) > line_bytes) return "row exceeds shared memory";
    return std::nullopt;
  }
};

// A lane's weights of a tile, by digit: samples 2·g and 2·g + 1, which are rows g and g + 8 of the product.
template <int digits, int pieces>
struct TileWeights {
  static constexpr int window = 16 * pieces;

  std::uint32_t weight[digits][pieces][2];
  int at;     // offset of the tile's bytes in the strip
  int first;  // its first sample

  // For the tile from sample `from` on, in a strip of `bytes` bytes from byte `begin` on.
  template <class P>
  SIMT void set(Thread thread, const P& p, int from, int begin, int bytes) {
    first = from;
    const AxisAt& along = p.plan.along;
    const int channels = p.channels(), samples = p.cols() * channels,
              sample = first + 2 * (thread.lane() / 4);
    const int inverse = 65536 / channels + 1;  // exact for bytes of a window
    const int least = p.start(along, (first < samples ? first : samples - 1) / channels) * channels,
              wanted = (least & ~3) - begin, most = bytes - window;
    at = wanted < most ? wanted : most;
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      const int mine = sample + h < samples ? sample + h : samples - 1, x = mine / channels;
      const int count = sample + h < samples ? p.count(along, x) : 0;
      const int to_first = begin + at + thread.lane() % 4 * 4 - (p.start(along, x) - x) * channels - mine;
      const std::int32_t* const weights = p.weights(along, x);
      SIMT_UNROLL
      for (int i = 0; i < pieces; ++i) {
        SIMT_UNROLL
        for (int d = 0; d < digits; ++d) weight[d][i][h] = 0;
        SIMT_UNROLL
        for (int b = 0; b < 4; ++b) {
          const int byte = to_first + 16 * i + b, k = byte < 0 ? 0 : byte * inverse >> 16;
          const std::int32_t one = byte >= 0 && k < count && k * channels == byte ? weights[k] : 0;
          SIMT_UNROLL
          for (int d = 0; d < digits; ++d) weight[d][i][h] |= digit_of<digits>(one, d) << 8 * b;
        }
      }
    }
  }
};

// Loads bytes of a line of the ring in the layout of a product's columns.
template <int pieces>
SIMT void load_pieces(Thread thread, const unsigned char* line, std::uint32_t (&to)[pieces]) {
  SIMT_UNROLL
  for (int i = 0; i < pieces; ++i)
    to[i] = *reinterpret_cast<const std::uint32_t*>(line + 16 * i + thread.lane() % 4 * 4);
}

// Stores four adjacent samples, at most the `count` that are left in the row.
SIMT void store_four(std::uint8_t* to, std::uint32_t four, int count) {
  if (count >= 4 && (reinterpret_cast<std::uintptr_t>(to) & 3) == 0) {
    *reinterpret_cast<std::uint32_t*>(to) = four;
    return;
  }
  SIMT_NO_UNROLL
  for (int v = 0; v < 4 && v < count; ++v, four >>= 8) to[v] = static_cast<std::uint8_t>(four & 255u);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resizing
