// SPDX-License-Identifier: Apache-2.0
// Arithmetic on the parts of a word, two of 16 bits or four of 8. Each part is computed as a separate int.
#pragma once
#include "device_functions.h"

namespace tessera_cuda {

// Applies `join` to each part; `Part` gives its width and sign. A result keeps its low bits.
template <class Part, class Join>
TESSERA_DEVICE unsigned by_parts(unsigned a, unsigned b, unsigned c, Join join) {
  constexpr unsigned bits = 8 * sizeof(Part), mask = (1u << bits) - 1;
  unsigned out = 0;
  for (unsigned at = 0; at < 32; at += bits)
    out |= (static_cast<unsigned>(join(int{static_cast<Part>(a >> at)}, int{static_cast<Part>(b >> at)},
                                       int{static_cast<Part>(c >> at)})) &
            mask)
           << at;
  return out;
}
// Saturates to the range of a part.
template <class Part>
TESSERA_DEVICE int saturated(int value) {
  constexpr int highest =
      static_cast<Part>(-1) < 0 ? (1 << (8 * sizeof(Part) - 1)) - 1 : (1 << 8 * sizeof(Part)) - 1;
  constexpr int lowest = static_cast<Part>(-1) < 0 ? -highest - 1 : 0;
  return value < lowest ? lowest : value > highest ? highest : value;
}
TESSERA_DEVICE int distance(int a, int b) { return a < b ? b - a : a - b; }

}  // namespace tessera_cuda

// Defines `name` for halves and for bytes. `result` is an expression of ints a and b, and of their type Part.
#define TESSERA_PARTS_OF(name, part, result)                                                  \
  TESSERA_DEVICE unsigned name(unsigned a_word, unsigned b_word) {                            \
    using Part = part;                                                                        \
    return tessera_cuda::by_parts<Part>(a_word, b_word, 0, [](int a, int b, int) -> int {     \
      return static_cast<void>(a), static_cast<void>(b), static_cast<void>(Part{}), (result); \
    });                                                                                       \
  }
#define TESSERA_SIGNED(name, result)              \
  TESSERA_PARTS_OF(name##2, signed short, result) \
  TESSERA_PARTS_OF(name##4, signed char, result)
#define TESSERA_UNSIGNED(name, result)              \
  TESSERA_PARTS_OF(name##2, unsigned short, result) \
  TESSERA_PARTS_OF(name##4, unsigned char, result)
#define TESSERA_SIGNED_AND_UNSIGNED(name, result) \
  TESSERA_SIGNED(name##s, result)                 \
  TESSERA_UNSIGNED(name##u, result)
TESSERA_UNSIGNED(__vadd, a + b)
TESSERA_UNSIGNED(__vsub, a - b)
TESSERA_SIGNED(__vaddss, tessera_cuda::saturated<Part>(a + b))
TESSERA_UNSIGNED(__vaddus, tessera_cuda::saturated<Part>(a + b))
TESSERA_SIGNED(__vsubss, tessera_cuda::saturated<Part>(a - b))
TESSERA_UNSIGNED(__vsubus, tessera_cuda::saturated<Part>(a - b))
TESSERA_SIGNED_AND_UNSIGNED(__vabsdiff, tessera_cuda::distance(a, b))
TESSERA_SIGNED_AND_UNSIGNED(__vmax, a < b ? b : a)
TESSERA_SIGNED_AND_UNSIGNED(__vmin, a < b ? a : b)
TESSERA_SIGNED(__vavgs, (a + b + (a + b >= 0)) >> 1)
TESSERA_UNSIGNED(__vavgu, (a + b + 1) >> 1)
TESSERA_UNSIGNED(__vhaddu, (a + b) >> 1)
#undef TESSERA_SIGNED_AND_UNSIGNED
// Sets all bits of a part if the predicate holds, or its lowest alone.
#define TESSERA_SIGNED_AND_UNSIGNED(name, holds) \
  TESSERA_SIGNED(__vcmp##name##s, -(holds))      \
  TESSERA_UNSIGNED(__vcmp##name##u, -(holds))    \
  TESSERA_SIGNED(__vset##name##s, holds)         \
  TESSERA_UNSIGNED(__vset##name##u, holds)
TESSERA_SIGNED_AND_UNSIGNED(ge, a >= b)
TESSERA_SIGNED_AND_UNSIGNED(gt, a > b)
TESSERA_SIGNED_AND_UNSIGNED(le, a <= b)
TESSERA_SIGNED_AND_UNSIGNED(lt, a < b)
#undef TESSERA_SIGNED_AND_UNSIGNED
TESSERA_UNSIGNED(__vcmpeq, -(a == b))
TESSERA_UNSIGNED(__vcmpne, -(a != b))
TESSERA_UNSIGNED(__vseteq, a == b)
TESSERA_UNSIGNED(__vsetne, a != b)
#undef TESSERA_UNSIGNED
#undef TESSERA_SIGNED
#undef TESSERA_PARTS_OF

#define TESSERA_OF_ONE(name, part, result)                                                          \
  TESSERA_DEVICE unsigned name(unsigned word) {                                                     \
    return tessera_cuda::by_parts<part>(word, 0, 0, [](int a, int, int) -> int { return result; }); \
  }
TESSERA_OF_ONE(__vabs2, signed short, a < 0 ? -a : a)
TESSERA_OF_ONE(__vabs4, signed char, a < 0 ? -a : a)
TESSERA_OF_ONE(__vabsss2, signed short, tessera_cuda::saturated<signed short>(a < 0 ? -a : a))
TESSERA_OF_ONE(__vabsss4, signed char, tessera_cuda::saturated<signed char>(a < 0 ? -a : a))
TESSERA_OF_ONE(__vneg2, signed short, -a)
TESSERA_OF_ONE(__vneg4, signed char, -a)
TESSERA_OF_ONE(__vnegss2, signed short, tessera_cuda::saturated<signed short>(-a))
TESSERA_OF_ONE(__vnegss4, signed char, tessera_cuda::saturated<signed char>(-a))
#undef TESSERA_OF_ONE

#define TESSERA_SUM_OF_DISTANCES(name, part, bits)                                         \
  TESSERA_DEVICE unsigned name(unsigned a, unsigned b) {                                   \
    unsigned sum = 0;                                                                      \
    for (int at = 0; at < 32; at += bits)                                                  \
      sum += static_cast<unsigned>(                                                        \
          tessera_cuda::distance(static_cast<part>(a >> at), static_cast<part>(b >> at))); \
    return sum;                                                                            \
  }
TESSERA_SUM_OF_DISTANCES(__vsads2, signed short, 16)
TESSERA_SUM_OF_DISTANCES(__vsads4, signed char, 8)
TESSERA_SUM_OF_DISTANCES(__vsadu2, unsigned short, 16)
TESSERA_SUM_OF_DISTANCES(__vsadu4, unsigned char, 8)
#undef TESSERA_SUM_OF_DISTANCES

// Minimum and maximum of sums and of three, of whole words and of halves; "relu": at least 0.
namespace tessera_cuda {
template <class T>
TESSERA_DEVICE T least(T a, T b) {
  return a < b ? a : b;
}
template <class T>
TESSERA_DEVICE T greatest(T a, T b) {
  return a < b ? b : a;
}
}  // namespace tessera_cuda
#define TESSERA_MOST(name, best)                                                                             \
  TESSERA_DEVICE int __viadd##name##_s32(int a, int b, int c) { return best(a + b, c); }                     \
  TESSERA_DEVICE unsigned __viadd##name##_u32(unsigned a, unsigned b, unsigned c) { return best(a + b, c); } \
  TESSERA_DEVICE unsigned __viadd##name##_s16x2(unsigned a, unsigned b, unsigned c) {                        \
    return __v##name##s2(__vadd2(a, b), c);                                                                  \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __viadd##name##_u16x2(unsigned a, unsigned b, unsigned c) {                        \
    return __v##name##u2(__vadd2(a, b), c);                                                                  \
  }                                                                                                          \
  TESSERA_DEVICE int __viadd##name##_s32_relu(int a, int b, int c) {                                         \
    return tessera_cuda::greatest(__viadd##name##_s32(a, b, c), 0);                                          \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __viadd##name##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                   \
    return __vmaxs2(__viadd##name##_s16x2(a, b, c), 0);                                                      \
  }                                                                                                          \
  TESSERA_DEVICE int __vi##name##_s32_relu(int a, int b) { return tessera_cuda::greatest(best(a, b), 0); }   \
  TESSERA_DEVICE unsigned __vi##name##_s16x2_relu(unsigned a, unsigned b) {                                  \
    return __vmaxs2(__v##name##s2(a, b), 0);                                                                 \
  }                                                                                                          \
  TESSERA_DEVICE int __vi##name##3_s32(int a, int b, int c) { return best(best(a, b), c); }                  \
  TESSERA_DEVICE unsigned __vi##name##3_u32(unsigned a, unsigned b, unsigned c) {                            \
    return best(best(a, b), c);                                                                              \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __vi##name##3_s16x2(unsigned a, unsigned b, unsigned c) {                          \
    return __v##name##s2(__v##name##s2(a, b), c);                                                            \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __vi##name##3_u16x2(unsigned a, unsigned b, unsigned c) {                          \
    return __v##name##u2(__v##name##u2(a, b), c);                                                            \
  }                                                                                                          \
  TESSERA_DEVICE int __vi##name##3_s32_relu(int a, int b, int c) {                                           \
    return tessera_cuda::greatest(__vi##name##3_s32(a, b, c), 0);                                            \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __vi##name##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                     \
    return __vmaxs2(__vi##name##3_s16x2(a, b, c), 0);                                                        \
  }                                                                                                          \
  /* Says, too, whether `a` is the result. */                                                                \
  TESSERA_DEVICE int __vib##name##_s32(int a, int b, bool* first) {                                          \
    return *first = best(a, b) == a, best(a, b);                                                             \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __vib##name##_u32(unsigned a, unsigned b, bool* first) {                           \
    return *first = best(a, b) == a, best(a, b);                                                             \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __vib##name##_s16x2(unsigned a, unsigned b, bool* high, bool* low) {               \
    const unsigned out = __v##name##s2(a, b);                                                                \
    return *high = out >> 16 == a >> 16, *low = (out & 0xffffu) == (a & 0xffffu), out;                       \
  }                                                                                                          \
  TESSERA_DEVICE unsigned __vib##name##_u16x2(unsigned a, unsigned b, bool* high, bool* low) {               \
    const unsigned out = __v##name##u2(a, b);                                                                \
    return *high = out >> 16 == a >> 16, *low = (out & 0xffffu) == (a & 0xffffu), out;                       \
  }
TESSERA_MOST(max, tessera_cuda::greatest)
TESSERA_MOST(min, tessera_cuda::least)
#undef TESSERA_MOST
