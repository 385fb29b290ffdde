// SPDX-License-Identifier: Apache-2.0
// Building blocks of the elementary functions for a vector of numbers: the counterpart of number-inl.h.
// Included once for each instruction set.
#if defined(TESSERA_FORMULA_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_FORMULA_PACK_INL_H
#undef TESSERA_FORMULA_PACK_INL_H
#else
#define TESSERA_FORMULA_PACK_INL_H
#endif

#include <hwy/highway.h>
#include <type_traits>
#include "tessera/formula/elementary.hpp"
#include "tessera/formula/vectors.hpp"

#define FORMULA_FN HWY_INLINE
HWY_BEFORE_NAMESPACE();
namespace tessera::formula {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using elementary::from_bits;
using elementary::u32;
using elementary::u64;

template <class D>
struct Mask {
  hn::Mask<D> raw;
};
template <class D>
FORMULA_FN Mask<D> operator&(Mask<D> a, Mask<D> b) {
  return {hn::And(a.raw, b.raw)};
}
template <class D>
FORMULA_FN Mask<D> operator|(Mask<D> a, Mask<D> b) {
  return {hn::Or(a.raw, b.raw)};
}
template <class D>
FORMULA_FN Mask<D> operator!(Mask<D> a) {
  return {hn::Not(a.raw)};
}

template <class D>
struct Pack {
  using T = hn::TFromD<D>;
  hn::Vec<D> raw;

  Pack() = default;
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  HWY_INLINE explicit Pack(N number) : raw(hn::Set(D(), static_cast<T>(number))) {}
  HWY_INLINE explicit Pack(hn::Vec<D> vector) : raw(vector) {}
};

template <class V>
struct Kind;
template <class D>
struct Kind<Pack<D>> {
  static constexpr bool wide = sizeof(hn::TFromD<D>) == 8;
};

#define FORMULA_OPERATOR(symbol, function)                   \
  template <class D>                                         \
  FORMULA_FN Pack<D> operator symbol(Pack<D> a, Pack<D> b) { \
    return Pack<D>(hn::function(a.raw, b.raw));              \
  }
FORMULA_OPERATOR(+, Add)
FORMULA_OPERATOR(-, Sub)
FORMULA_OPERATOR(*, Mul)
FORMULA_OPERATOR(/, Div)
#undef FORMULA_OPERATOR
#define FORMULA_COMPARISON(symbol, function)                 \
  template <class D>                                         \
  FORMULA_FN Mask<D> operator symbol(Pack<D> a, Pack<D> b) { \
    return {hn::function(a.raw, b.raw)};                     \
  }
FORMULA_COMPARISON(<, Lt)
FORMULA_COMPARISON(>, Gt)
FORMULA_COMPARISON(<=, Le)
FORMULA_COMPARISON(>=, Ge)
FORMULA_COMPARISON(==, Eq)
#undef FORMULA_COMPARISON
template <class D>
FORMULA_FN Pack<D> operator-(Pack<D> a) {
  return Pack<D>(hn::Neg(a.raw));
}
template <class D>
FORMULA_FN Mask<D> operator!=(Pack<D> a, Pack<D> b) {
  return {hn::Not(hn::Eq(a.raw, b.raw))};  // Ne would call two NaNs alike on some CPUs
}

template <class D>
FORMULA_FN Pack<D> pick(Mask<D> which, Pack<D> a, Pack<D> b) {
  return Pack<D>(hn::IfThenElse(which.raw, a.raw, b.raw));
}
template <class D>
FORMULA_FN bool any_of(Mask<D> which) {
  return !hn::AllFalse(D(), which.raw);
}

template <class D>
FORMULA_FN Pack<D> fused(Pack<D> a, Pack<D> b, Pack<D> c) {
#if HWY_NATIVE_FMA
  return Pack<D>(hn::MulAdd(a.raw, b.raw, c.raw));
#else  // Highway would round twice
  using T = hn::TFromD<D>;
  HWY_ALIGN T x[hn::MaxLanes(D())], y[hn::MaxLanes(D())], z[hn::MaxLanes(D())];
  hn::Store(a.raw, D(), x);
  hn::Store(b.raw, D(), y);
  hn::Store(c.raw, D(), z);
  fused_on_block(x, y, z, z, hn::Lanes(D()));
  return Pack<D>(hn::Load(D(), z));
#endif
}
template <class D>
FORMULA_FN Pack<D> root(Pack<D> a) {
  return Pack<D>(hn::Sqrt(a.raw));
}
template <class D>
FORMULA_FN Pack<D> magnitude(Pack<D> a) {
  return Pack<D>(hn::Abs(a.raw));
}
template <class D>
FORMULA_FN Pack<D> with_sign(Pack<D> a, Pack<D> sign) {
  return Pack<D>(hn::CopySign(a.raw, sign.raw));
}
// Highway loses the sign of a zero on targets without an instruction for integral values.
template <class D>
FORMULA_FN Pack<D> whole(hn::Vec<D> number, [[maybe_unused]] Pack<D> a) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  return with_sign(Pack<D>(number), a);
#else
  return Pack<D>(number);
#endif
}
#define FORMULA_WHOLE(name, function)        \
  template <class D>                         \
  FORMULA_FN Pack<D> name(Pack<D> a) {       \
    return whole<D>(hn::function(a.raw), a); \
  }
FORMULA_WHOLE(nearest, Round)
FORMULA_WHOLE(below, Floor)
FORMULA_WHOLE(above, Ceil)
FORMULA_WHOLE(towards_zero, Trunc)
#undef FORMULA_WHOLE
template <class D>
FORMULA_FN Pack<D> power_of_two(Pack<D> n) {
  const hn::RebindToUnsigned<D> bits;
  if constexpr (Kind<Pack<D>>::wide) {
    const auto sum = (n + Pack<D>(6755399441055744.0 + 1023.0)).raw;
    return Pack<D>(hn::BitCast(D(), hn::ShiftLeft<52>(hn::BitCast(bits, sum))));
  } else {
    const auto sum = (n + Pack<D>(12582912.0f + 127.0f)).raw;
    return Pack<D>(hn::BitCast(D(), hn::ShiftLeft<23>(hn::BitCast(bits, sum))));
  }
}
template <class D>
FORMULA_FN Pack<D> exponent_of(Pack<D> a) {
  const hn::RebindToUnsigned<D> bits;
  const auto of_a = hn::BitCast(bits, a.raw);
  if constexpr (Kind<Pack<D>>::wide) {
    const auto whole = hn::Or(hn::ShiftRight<52>(of_a), hn::Set(bits, 0x4330000000000000u));
    return Pack<D>(hn::BitCast(D(), whole)) - Pack<D>(4503599627370496.0 + 1023.0);
  } else {
    const auto whole = hn::Or(hn::ShiftRight<23>(of_a), hn::Set(bits, 0x4b000000u));
    return Pack<D>(hn::BitCast(D(), whole)) - Pack<D>(8388608.0f + 127.0f);
  }
}
template <class D>
FORMULA_FN Pack<D> significand_of(Pack<D> a) {
  const hn::RebindToUnsigned<D> bits;
  const auto of_a = hn::BitCast(bits, a.raw);
  if constexpr (Kind<Pack<D>>::wide)
    return Pack<D>(hn::BitCast(
        D(), hn::Or(hn::And(of_a, hn::Set(bits, 0x000fffffffffffffu)), hn::Set(bits, 0x3ff0000000000000u))));
  else
    return Pack<D>(
        hn::BitCast(D(), hn::Or(hn::And(of_a, hn::Set(bits, 0x007fffffu)), hn::Set(bits, 0x3f800000u))));
}

// Reduces the large ones one after another, and leaves the rest.
template <class D>
FORMULA_FN void huge_angles(Pack<D> x, Mask<D> which, Pack<D>& turns, Pack<D>& hi, Pack<D>& lo) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T at[hn::MaxLanes(D())], t[hn::MaxLanes(D())], h[hn::MaxLanes(D())], l[hn::MaxLanes(D())];
  hn::Store(pick(which, x, Pack<D>(0)).raw, D(), at);
  huge_angles_on_block(at, t, h, l, hn::Lanes(D()));
  turns = pick(which, Pack<D>(hn::Load(D(), t)), turns);
  hi = pick(which, Pack<D>(hn::Load(D(), h)), hi);
  lo = pick(which, Pack<D>(hn::Load(D(), l)), lo);
}

template <class D>
FORMULA_FN Pack<D> fmod(Pack<D> a, Pack<D> b) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T x[hn::MaxLanes(D())], y[hn::MaxLanes(D())];
  hn::Store(a.raw, D(), x);
  hn::Store(b.raw, D(), y);
  library_on_block(Op::fmod, x, y, x, hn::Lanes(D()));
  return Pack<D>(hn::Load(D(), x));
}

#include "tessera/formula/elementary/exact-inl.h"
#include "tessera/formula/elementary/exponential-inl.h"
#include "tessera/formula/elementary/trigonometric-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace tessera::formula
HWY_AFTER_NAMESPACE();
#undef FORMULA_FN
#endif
