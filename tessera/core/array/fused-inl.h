// SPDX-License-Identifier: Apache-2.0
// Sums of products in vectors, with a single rounding for floats, compiled for each instruction set
// (foreach_target).
#if defined(TESSERA_CORE_FUSED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_CORE_FUSED_INL_H
#undef TESSERA_CORE_FUSED_INL_H
#else
#define TESSERA_CORE_FUSED_INL_H
#endif

#include <hwy/highway.h>
#include <cmath>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A fused multiply-add needs the instruction; elsewhere std::fma computes one element at a time.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
inline constexpr bool fuses = false;
#elif defined(HWY_SSE2) && HWY_TARGET == HWY_SSE2
inline constexpr bool fuses = false;
#else
inline constexpr bool fuses = true;
#endif

template <class D, class V>
HWY_INLINE V add_products(D d, V weight, V x, V sum) {
  using A = hn::TFromD<D>;
  if constexpr (!std::is_same_v<A, float>) {
    (void)d;
    return hn::Add(sum, hn::Mul(weight, x));
  } else if constexpr (fuses) {
    return hn::MulAdd(weight, x, sum);
  } else {
    HWY_ALIGN float w[hn::MaxLanes(D())], v[hn::MaxLanes(D())], s[hn::MaxLanes(D())];
    hn::Store(weight, d, w);
    hn::Store(x, d, v);
    hn::Store(sum, d, s);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) s[i] = std::fma(w[i], v[i], s[i]);
    return hn::Load(d, s);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera
HWY_AFTER_NAMESPACE();

#endif
