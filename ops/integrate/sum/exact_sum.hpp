// SPDX-License-Identifier: Apache-2.0
// Sums without rounding: every number is a whole multiple of the type's smallest, and whole numbers, kept
// as digits of 32 bits in words of 64, can be added in any order. One rounding, at the end.
// Installed: for programs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include "tessera/core/thread.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

template <class T>
class Exact {
 public:
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr int mantissa_bits = wide ? 52 : 23;  // without the hidden one
  static constexpr int greatest_exponent = wide ? 2047 : 255;
  static constexpr int digits = (greatest_exponent + mantissa_bits) / 32 + 2;
  static constexpr int words = digits + 1;  // the last: which of infinity, -infinity, NaN were seen
  static constexpr std::int64_t most_additions = 1 << 20;  // between two calls of carry(), with much to spare

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

  // Brings every digit but the last into 0 … 2^32 - 1: what all of them mean stays.
  SIMT void carry() {
    for (int i = 0; i + 1 < digits; ++i) {
      word_[i + 1] += word_[i] >> 32;
      word_[i] &= 0xffffffff;
    }
  }

  SIMT void store(std::int64_t* to) const {
    for (int i = 0; i < words; ++i) to[i] = word_[i];
  }
  // Adds what was stored after carry(), at most 2^31 times between two calls of it.
  SIMT void add_stored(const std::int64_t* from) {
    for (int i = 0; i < digits; ++i) word_[i] += from[i];
    word_[digits] |= from[digits];
  }

  // The nearest T, ties to even.
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

  SIMT static Bits bits_of(T value) {
    Bits bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  SIMT static T from_bits(Bits bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }

  SIMT static T special(int seen) {
    const Bits infinite = Bits(greatest_exponent) << mantissa_bits;
    if (seen == 1) return from_bits(infinite);
    if (seen == 2) return from_bits(infinite | (Bits{1} << (8 * sizeof(T) - 1)));
    return from_bits(infinite | (Bits{1} << (mantissa_bits - 1)));
  }

  SIMT bool bit(int place) const { return ((word_[place / 32] >> (place % 32)) & 1) != 0; }

  // Of digits that carry() has put in order, none negative. A number's bits without its sign, read as a
  // whole number, grow with it: rounding up is adding 1 to them.
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
