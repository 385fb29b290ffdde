// SPDX-License-Identifier: Apache-2.0
// Range reduction of one number so large that its product with 2/π must be formed from the digits of 2/π that
// decide its last turns (Payne and Hanek's method), in integers. Included inside a namespace by its users.

FORMULA_FN u64 two_over_pi(int word) {  // 64 bits of 0 first: places above the point
  constexpr u64 words[] = {0,
                           0xa2f9836e4e441529u,
                           0xfc2757d1f534ddc0u,
                           0xdb6295993c439041u,
                           0xfe5163abdebbc561u,
                           0xb7246e3a424dd2e0u,
                           0x06492eea09d1921cu,
                           0xfe1deb1cb129a73eu,
                           0xe88235f52ebb4484u,
                           0xe99c7026b45f7e41u,
                           0x3991d639835339f4u,
                           0x9c845f8bbdf9283bu,
                           0x1ff897ffde05980fu,
                           0xef2f118b5a0a6d1fu,
                           0x6d367ecf27cb09b7u,
                           0x4f463f669e5fea2du,
                           0x7527bac7ebe5f17bu,
                           0x3d0739f78a5292eau,
                           0x6bfb5fb11f8d5d08u,
                           0x56033046fc7b6babu};
  return words[word];
}

FORMULA_FN u64 high_product(u64 a, u64 b) {
  const u64 low = 0xffffffffu, a0 = a & low, a1 = a >> 32, b0 = b & low, b1 = b >> 32;
  const u64 middle = a1 * b0 + ((a0 * b0) >> 32);
  return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & low)) >> 32);
}

// |x| = mantissa · 2^exponent: quarter turns modulo 4, and the rest of one as a signed fraction.
struct Turns {
  u64 quarters, high, low;  // the fraction's magnitude, of 2^128
  bool negative;
};

FORMULA_FN Turns turns_of(u64 mantissa, int exponent) {
  const int at = exponent + 62, word = at / 64, shift = at % 64;
  u64 digits[3];
  for (int i = 0; i < 3; ++i) {
    const u64 next = shift == 0 ? 0 : two_over_pi(word + i + 1) >> (64 - shift);
    digits[i] = (two_over_pi(word + i) << shift) | next;
  }
  const u64 r0 = digits[2] * mantissa;
  const u64 carried = high_product(digits[2], mantissa), middle = digits[1] * mantissa;
  const u64 r1 = middle + carried;
  const u64 r2 = digits[0] * mantissa + high_product(digits[1], mantissa) + (r1 < middle ? 1 : 0);
  Turns out{r2 >> 62, (r2 << 2) | (r1 >> 62), (r1 << 2) | (r0 >> 62), false};
  if (out.high >> 63 != 0) {  // more than half a quarter: the next one, less the rest
    out.quarters = (out.quarters + 1) & 3;
    out.negative = true;
    out.high = ~out.high + (out.low == 0 ? 1 : 0);
    out.low = ~out.low + 1;
  }
  return out;
}

// Returns the fraction's first bits as two numbers.
template <class T>
FORMULA_FN Pair<T> leading(u64 high, u64 low) {
  constexpr int digits = Kind<T>::wide ? 53 : 24;
  int zeros = 0;
  if (high == 0) {
    high = low;
    low = 0;
    zeros = 64;
  }
  if (high == 0) return {T(0), T(0)};
  while (high >> 63 == 0) {
    high = (high << 1) | (low >> 63);
    low <<= 1;
    ++zeros;
  }
  const u64 first = high >> (64 - digits);
  const u64 rest = (high << digits) | (low >> (64 - digits));
  const u64 second = rest >> (64 - digits);
  return {T(first) * power_of_two(T(-digits - zeros)), T(second) * power_of_two(T(-2 * digits - zeros))};
}

// Reduces an angle; x is at least 2^10. `which` is for vectors: all of a single number is reduced.
template <class T>
FORMULA_FN void huge_angles(T x, bool, T& turns, T& hi, T& lo) {
  const T a = magnitude(x);
  if (!(a < infinity<T>())) {
    turns = T(0);
    hi = lo = not_a_number<T>();
    return;
  }
  constexpr int digits = Kind<T>::wide ? 53 : 24;
  const T exponent = exponent_of(a);
  const u64 mantissa = u64(significand_of(a) * power_of_two(T(digits - 1)));
  const Turns t = turns_of(mantissa, int(exponent) - (digits - 1));
  const Pair<T> fraction = leading<T>(t.high, t.low);
  const T quarter_hi = number<T>(0x1.921fb54442d18p+0, 0x1.921fb6p+0f);
  const T quarter_lo = number<T>(0x1.1a62633145c07p-54, -0x1.777a5cp-25f);
  Pair<T> r = product(fraction.hi, quarter_hi);
  r = sum_ordered(r.hi, r.lo + fused(fraction.hi, quarter_lo, fraction.lo * quarter_hi));
  const bool flip = t.negative != (x < T(0));
  hi = flip ? -r.hi : r.hi;
  lo = flip ? -r.lo : r.lo;
  turns = x < T(0) ? -T(t.quarters) : T(t.quarters);
}
