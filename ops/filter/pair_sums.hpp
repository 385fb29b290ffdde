// SPDX-License-Identifier: Apache-2.0
// Lines of bytes summed two samples an instruction: a line's pairs as a row of a kernel meets them.
#pragma once
#include "pairs.hpp"
#include "warp_lines.hpp"

namespace tessera::filter {
inline namespace TESSERA_UNIT {

constexpr int pairs = run_samples<std::uint8_t> / 2;

// The high half of one word and the low half of the next.
SIMT std::uint32_t across(std::uint32_t word, std::uint32_t next) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(word, next, 0x5432);
#else
  return next << 16 | word >> 16;
#endif
}

// Every pair of a run, as it stands to the left, in the middle and to the right. `before` and `behind` are
// the words beside the run.
template <int channels>
SIMT void pairs_of(std::uint32_t before, const Bytes16& bytes, std::uint32_t behind,
                   std::uint32_t (&to)[3][pairs]) {
  static_assert(channels == 1 || channels == 3);
  std::uint32_t even[6], odd[6];
  SIMT_UNROLL
  for (int k = 0; k < 6; ++k) {
    const std::uint32_t word = k == 0 ? before : k == 5 ? behind : bytes.word[(k + 3) % 4];
    even[k] = even_bytes(word);
    odd[k] = odd_bytes(word);
  }
  SIMT_UNROLL
  for (int k = 1; k < 5; ++k) {
    const int at = 2 * (k - 1);
    to[1][at] = even[k];
    to[1][at + 1] = odd[k];
    to[0][at] = channels == 1 ? across(odd[k - 1], odd[k]) : odd[k - 1];
    to[0][at + 1] = channels == 1 ? even[k] : across(even[k - 1], even[k]);
    to[2][at] = channels == 1 ? odd[k] : across(odd[k], odd[k + 1]);
    to[2][at + 1] = channels == 1 ? across(even[k], even[k + 1]) : even[k + 1];
  }
}

// Whatever part of the taps has been added, halves hold it.
inline bool sums_fit(const Taps& taps) {
  int above = 0, below = 0;
  for (int i = 0; i < taps.rows * taps.cols; ++i) (taps.weight[i] > 0 ? above : below) += taps.weight[i];
  return above * 255 <= most_pair_sum && -below * 255 <= most_pair_sum;
}

inline Reason refuses_pairs(const Taps& taps, const Finish& finish) {
  if (!finish.whole || finish.shift != 0 || finish.whole_offset != 0)
    return "is for sums of bytes without a factor or an offset";
  if (!sums_fit(taps)) return "is for weights of bytes whose positive and negative sums are at most 8";
  return std::nullopt;
}

// As NumberSums. `cross`: the kernel's corners are 0 and left out; all other weights are multiplied by, for a
// product costs less than to ask whether it is needed.
template <int channels, bool cross>
class PairSums {
 public:
  using Line = std::uint32_t[3][pairs];
  using Sum = std::uint32_t[pairs];

  SIMT explicit PairSums(const Problem<std::uint8_t>& p) : absolute_(p.finish.absolute) {
    const Weights3<std::int32_t> whole(p.taps);
    SIMT_UNROLL
    for (int i = 0; i < 9; ++i) weight_[i / 3][i % 3] = pair_weight(whole.weight[i / 3][i % 3]);
  }

  SIMT void take(const WideRun<std::uint8_t, channels>& raw, Line& to) const {
    pairs_of<channels>(raw.left[0], raw.bytes, raw.right[0], to);
  }
  SIMT void add(int row, const Line& line, Sum& sum) const {
    SIMT_UNROLL
    for (int j = 0; j < 3; ++j) {
      if (cross && row != 1 && j != 1) continue;
      SIMT_UNROLL
      for (int v = 0; v < pairs; ++v) sum[v] = pair_add(weight_[row][j], line[j][v], sum[v]);
    }
  }
  SIMT static void clear(Sum& sum) {
    SIMT_UNROLL
    for (int v = 0; v < pairs; ++v) sum[v] = 0;
  }
  SIMT Bytes16 finish(const Sum& sum) const {
    Bytes16 out;
    SIMT_UNROLL
    for (int k = 0; k < 4; ++k)
      out.word[k] = joined_bytes(pair_bytes(sum[2 * k], absolute_), pair_bytes(sum[2 * k + 1], absolute_));
    return out;
  }

 private:
  std::uint32_t weight_[3][3];
  bool absolute_;
};

SIMT bool is_cross(const Taps& taps) {
  const Weights3<std::int32_t> w(taps);
  return (w.weight[0][0] | w.weight[0][2] | w.weight[2][0] | w.weight[2][2]) == 0;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::filter
