// SPDX-License-Identifier: Apache-2.0
// Elements of 16 and 8 bits in a kernel's registers: widened to f32 or i32, and rounded back.
//
// bf16 and f16 are Bits16, e4m3 and e5m2 are Bits8: the element is a runtime argument, so that one kernel
// serves both.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/thread.hpp"
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

struct Bits16 {
  std::uint16_t bits;
};
struct Bits8 {
  std::uint8_t bits;
};

// The type in which products of such elements are summed.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, Bits16> || std::is_same_v<T, Bits8>, float,
                                 std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, T>>;

SIMT float widened(Element element, Bits16 x) {
  const float of_bf16 = __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
#if defined(__CUDA_ARCH__)
  const float of_f16 = __half2float(__ushort_as_half(x.bits));
#else
  const auto of_f16 = static_cast<float>(f16{x.bits});
#endif
  return element == Element::f16 ? of_f16 : of_bf16;
}

SIMT float widened(Element element, Bits8 x) {
#if defined(__CUDA_ARCH__)
  return __half2float(
      __ushort_as_half(__nv_cvt_fp8_to_halfraw(x.bits, element == Element::e4m3 ? __NV_E4M3 : __NV_E5M2).x));
#else
  return element == Element::e4m3 ? static_cast<float>(e4m3{x.bits}) : static_cast<float>(e5m2{x.bits});
#endif
}
SIMT std::int32_t widened(Element, std::int8_t x) { return x; }

// Widens four elements, from number `first` on, of sixteen packed bytes. Unpacked earlier, each element would
// take a register.
SIMT void widen(Bits16, Element element, const Bytes16& from, int first, float (&to)[4]) {
  SIMT_UNROLL
  for (int e = 0; e < 4; ++e)
    to[e] = widened(element, Bits16{static_cast<std::uint16_t>(from.word[(first + e) / 2] >> e % 2 * 16)});
}
SIMT void widen(Bits8, Element element, const Bytes16& from, int first, float (&to)[4]) {
  const std::uint32_t word = from.word[first / 4];
#if defined(__CUDA_ARCH__)
  SIMT_UNROLL
  for (int e = 0; e < 4; e += 2) {
    // An e5m2 is the upper byte of an f16.
    const std::uint32_t pair = word >> e * 8 & 0xffff;
    const __half2_raw of_e4m3 =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair), __NV_E4M3);
    const bool is_e4m3 = element == Element::e4m3;
    to[e] = __half2float(__ushort_as_half(static_cast<unsigned short>(is_e4m3 ? of_e4m3.x : pair << 8)));
    to[e + 1] =
        __half2float(__ushort_as_half(static_cast<unsigned short>(is_e4m3 ? of_e4m3.y : pair & 0xff00)));
  }
#else
  for (int e = 0; e < 4; ++e) to[e] = widened(element, Bits8{static_cast<std::uint8_t>(word >> e * 8)});
#endif
}
SIMT void widen(std::int8_t, Element, const Bytes16& from, int first, std::int32_t (&to)[4]) {
  SIMT_UNROLL
  for (int e = 0; e < 4; ++e) to[e] = static_cast<std::int8_t>(from.word[first / 4] >> e * 8);
}

// Returns sum + the products of four elements each, from number `first` on.
template <class T>
SIMT float add_products(T type, Element a_element, Element b_element, const Bytes16& a, const Bytes16& b,
                        int first, float sum) {
  float of_a[4], of_b[4];
  widen(type, a_element, a, first, of_a);
  widen(type, b_element, b, first, of_b);
  SIMT_UNROLL
  for (int e = 0; e < 4; ++e) sum = std::fma(of_a[e], of_b[e], sum);
  return sum;
}
SIMT std::int32_t add_products(std::int8_t, Element, Element, const Bytes16& a, const Bytes16& b, int first,
                               std::int32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int>(a.word[first / 4]), static_cast<int>(b.word[first / 4]), sum);
#else
  for (int e = 0; e < 4; ++e)
    sum += static_cast<std::int8_t>(a.word[first / 4] >> e * 8) *
           static_cast<std::int8_t>(b.word[first / 4] >> e * 8);
  return sum;
#endif
}

// Sets element number e, whose bytes were zero.
template <class T>
SIMT void put_element(Bytes16& into, int e, T x) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
  constexpr int in_word = 4 / int{sizeof(T)};
  into.word[e / in_word] |= std::uint32_t{__builtin_bit_cast(Bits, x)} << e % in_word * (32 / in_word);
}

// Rounds to nearest, ties to even.
SIMT Bits16 rounded(Element element, float x) {
#if defined(__CUDA_ARCH__)
  if (element == Element::f16) return {__half_as_ushort(__float2half_rn(x))};
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#else
  return {element == Element::f16 ? f16::from(x).bits : bf16::from(x).bits};
#endif
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
