// SPDX-License-Identifier: Apache-2.0
// Methods of adding many numbers. A partial sum is a pair in all of them, so that rungs need not know the
// method, which alone defines the meaning of `low`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include "tessera/core/device/thread.hpp"

namespace tessera::integration {

// plain         one rounding for each addition, in the caller's order
// pairwise      runs of 32, joined pairwise: a tree that depends only on the number of strips
// kahan         each addition's rounding error is compensated at the next, in the caller's order
// double_float  a pair of numbers that share no digit, joined by a tree as above
// exact         as integers of the smallest unit: no rounding until the end
enum class Sum : std::int32_t { plain, pairwise, kahan, double_float, exact };

inline constexpr int pairwise_leaf = 32;

// True: the result depends on the strips alone, not on the threads that add them.
constexpr bool has_fixed_order(Sum sum) { return sum != Sum::plain && sum != Sum::kahan; }

inline namespace TESSERA_UNIT {

template <class T>
struct Pair {
  T high, low;  // 0 if made with {}; uninitialized in shared memory
};

// Returns a + b and its exact rounding error.
template <class T>
SIMT Pair<T> two_sum(T a, T b) {
  const T sum = a + b, of_b = sum - a, of_a = sum - of_b;
  return {sum, (a - of_a) + (b - of_b)};
}

// Like two_sum, for |a| ≥ |b|.
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

// Joins two partial sums; the first belongs to the earlier strips.
template <class T>
SIMT Pair<T> join(Sum way, Pair<T> a, Pair<T> b) {
  if (way == Sum::kahan) return plus(way, plus(way, a, b.high), b.low);
  if (way == Sum::double_float) {
    const Pair<T> exact = two_sum(a.high, b.high);
    return quick_two_sum(exact.high, exact.low + (a.low + b.low));
  }
  return {a.high + b.high, 0};
}

// Joins partial sums pairwise in a binary tree, as they come. Adding entire, aligned subtrees gives bitwise
// identical results.
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

// Sums without rounding. Every number is an integer multiple of the type's smallest one, and integers, kept
// as 32-bit digits in 64-bit words, can be added in any order. The only rounding is at the end.

template <class T>
class Exact {
 public:
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr int mantissa_bits = wide ? 52 : 23;  // without the hidden one
  static constexpr int greatest_exponent = wide ? 2047 : 255;
  static constexpr int digits = (greatest_exponent + mantissa_bits) / 32 + 2;
  static constexpr int words = digits + 1;  // the last: which of infinity, -infinity, NaN were seen
  static constexpr std::int64_t max_additions = 1 << 20;  // between two calls of carry(), with much to spare

  SIMT void add(T value) {
    const Bits bits = bits_of(value);
    const bool negative = (bits >> (8 * sizeof(T) - 1)) != 0;
    const int exponent = int(bits >> mantissa_bits) & greatest_exponent;
    const Bits fraction = bits & ((Bits{1} << mantissa_bits) - 1);
    if (exponent == greatest_exponent) {
      word_[digits] |= fraction != 0 ? 4 : negative ? 2 : 1;
      return;
    }
    const int place = exponent == 0 ? 0 : exponent - 1, shift = place % 32;
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | (Bits{1} << mantissa_bits);
    const std::uint64_t low = mantissa << shift, high = shift == 0 ? 0 : mantissa >> (64 - shift);
    std::int64_t* const to = word_ + place / 32;
    const std::int64_t sign = negative ? -1 : 1;
    to[0] += sign * std::int64_t(low & 0xffffffffu);
    to[1] += sign * std::int64_t(low >> 32);
    if (wide) to[2] += sign * std::int64_t(high);
  }

  // Brings every digit but the last into 0 … 2^32 - 1; the number stays the same.
  SIMT void carry() {
    for (int i = 0; i + 1 < digits; ++i) {
      word_[i + 1] += word_[i] >> 32;
      word_[i] &= 0xffffffff;
    }
  }

  SIMT void store(std::int64_t* to) const {
    for (int i = 0; i < words; ++i) to[i] = word_[i];
  }
  // Adds words that were stored after carry(), at most 2^31 times between two calls of it.
  SIMT void add_stored(const std::int64_t* from) {
    for (int i = 0; i < digits; ++i) word_[i] += from[i];
    word_[digits] |= from[digits];
  }

  // Returns the nearest T, ties to even.
  SIMT T rounded() const {
    if (word_[digits] != 0) return special(int(word_[digits]));
    Exact magnitude = *this;
    magnitude.carry();
    const bool negative = magnitude.word_[digits - 1] < 0;
    if (negative) {
      for (int i = 0; i < digits; ++i) magnitude.word_[i] = -magnitude.word_[i];
      magnitude.carry();
    }
    const Bits bits = magnitude.rounded_bits();
    return from_bits(negative ? bits | (Bits{1} << (8 * sizeof(T) - 1)) : bits);
  }

 private:
  using Bits = std::conditional_t<wide, std::uint64_t, std::uint32_t>;

  SIMT static Bits bits_of(T value) { return __builtin_bit_cast(Bits, value); }
  SIMT static T from_bits(Bits bits) { return __builtin_bit_cast(T, bits); }

  SIMT static T special(int seen) {
    const Bits infinite = Bits(greatest_exponent) << mantissa_bits;
    if (seen == 1) return from_bits(infinite);
    if (seen == 2) return from_bits(infinite | (Bits{1} << (8 * sizeof(T) - 1)));
    return from_bits(infinite | (Bits{1} << (mantissa_bits - 1)));
  }

  SIMT bool bit(int place) const { return ((word_[place / 32] >> (place % 32)) & 1) != 0; }

  // Requires digits after carry(), none negative. A number's bits without its sign, read as an integer, grow
  // with the number, so rounding up adds 1 to them.
  SIMT Bits rounded_bits() const {
    int top = 32 * digits - 1;
    while (top >= 0 && !bit(top)) --top;
    const int least = top > mantissa_bits ? top - mantissa_bits : 0;
    if (least + 1 >= greatest_exponent) return Bits(greatest_exponent) << mantissa_bits;
    Bits mantissa = 0;
    for (int place = top; place >= least; --place) mantissa = (mantissa << 1) | Bits(bit(place));
    Bits out = mantissa + (Bits(least) << mantissa_bits);
    if (least == 0) return out;
    bool below = false;
    for (int place = 0; place < least - 1 && !below; ++place) below = bit(place);
    if (bit(least - 1) && (below || (mantissa & 1) != 0)) ++out;
    return out;
  }

  std::int64_t word_[std::size_t(words)] = {};
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
