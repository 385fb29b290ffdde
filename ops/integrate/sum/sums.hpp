// SPDX-License-Identifier: Apache-2.0
// The ways to add many numbers. A partial sum is a pair in all of them, so that rungs need not know which
// one was asked for: what `low` means is the way's own business.
// Installed: for programs.
#pragma once
#include <cstdint>
#include "tessera/core/thread.hpp"

namespace tessera::integration {

// plain         one rounding for each addition, in the order of whoever adds
// pairwise      runs of 32, joined two by two: a tree that depends on nothing but the number of strips
// kahan         each addition's rounding error is given back at the next, in the order of whoever adds
// double_float  a pair of numbers that share no digit, joined by a tree as above
// exact         as whole numbers of the smallest unit: no rounding until the end
enum class Sum : std::int32_t { plain, pairwise, kahan, double_float, exact };

inline constexpr int pairwise_leaf = 32;

// Then the result depends on the strips alone, not on who adds what.
constexpr bool has_fixed_order(Sum sum) { return sum != Sum::plain && sum != Sum::kahan; }

inline namespace TESSERA_UNIT {

template <class T>
struct Pair {
  T high, low;  // zero when made with {}; a block shares them raw
};

// a + b and exactly what its rounding lost.
template <class T>
SIMT Pair<T> two_sum(T a, T b) {
  const T sum = a + b, of_b = sum - a, of_a = sum - of_b;
  return {sum, (a - of_a) + (b - of_b)};
}

// Likewise where |a| ≥ |b|.
template <class T>
SIMT Pair<T> quick_two_sum(T a, T b) {
  const T sum = a + b;
  return {sum, b - (sum - a)};
}

template <class T>
SIMT Pair<T> plus(Sum way, Pair<T> sum, T value) {
  if (way == Sum::kahan) {
    const T corrected = value + sum.low, next = sum.high + corrected;
    return {next, corrected - (next - sum.high)};
  }
  if (way == Sum::double_float) {
    const Pair<T> exact = two_sum(sum.high, value);
    return quick_two_sum(exact.high, exact.low + sum.low);
  }
  return {sum.high + value, 0};
}

// Two partial sums; the first belongs to the earlier strips.
template <class T>
SIMT Pair<T> join(Sum way, Pair<T> a, Pair<T> b) {
  if (way == Sum::kahan) return plus(way, plus(way, a, b.high), b.low);
  if (way == Sum::double_float) {
    const Pair<T> exact = two_sum(a.high, b.high);
    return quick_two_sum(exact.high, exact.low + (a.low + b.low));
  }
  return {a.high + b.high, 0};
}

// Joins partial sums two by two, those two by two, and so on, as they come. Whoever hands it whole,
// aligned subtrees instead of leaves gets the same bits.
template <class T>
class Tree {
 public:
  SIMT explicit Tree(Sum way) : way_(way) {}

  SIMT void add(Pair<T> leaf) {
    for (std::uint64_t bit = count_; (bit & 1) != 0; bit >>= 1) leaf = join(way_, level_[--depth_], leaf);
    level_[depth_++] = leaf;
    ++count_;
  }

  SIMT Pair<T> sum() const {
    if (depth_ == 0) return {};
    Pair<T> out = level_[depth_ - 1];
    for (int i = depth_ - 2; i >= 0; --i) out = join(way_, level_[i], out);
    return out;
  }

 private:
  Pair<T> level_[48];  // 2^47 leaves
  std::uint64_t count_ = 0;
  int depth_ = 0;
  Sum way_;
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
