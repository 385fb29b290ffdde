// SPDX-License-Identifier: Apache-2.0
// The vectorized epilogue of a row of C that is still in the caches. An element's bits do not depend on its
// position in the row. Included once for each instruction set.
#if defined(TESSERA_EPILOGUE_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_EPILOGUE_SIMD_INL_H
#undef TESSERA_EPILOGUE_SIMD_INL_H
#else
#define TESSERA_EPILOGUE_SIMD_INL_H
#endif

#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include "ops/matmul/epilogue/epilogue.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// erfc(y)·exp(y²)/t for y ≥ 0 and t = 3/(3 + y), a smooth function of t even at y = ∞: the polynomial in
// 2t - 1, highest power first, that interpolates it at Chebyshev points (computed with 40 digits). Its error
// is less than 1e-8 for f32, 1e-16 for f64.
template <class T>
inline constexpr T kErfc[] = {};
template <>
inline constexpr float kErfc<float>[] = {2.34684184e-5f,   7.02600374e-5f, -0.000171437873f, -0.000991010881f,
                                         -0.000408896223f, 0.00893382216f, 0.0398434194f,    0.103490595f,
                                         0.196742744f,     0.294464743f,   0.358002302f};
template <>
inline constexpr double kErfc<double>[] = {
    -1.13627854000471383e-11, 1.3405636431181691e-9,   -1.11379013387078118e-9,  -1.31596540335538444e-8,
    1.64721638402255232e-8,   7.23798489327070515e-8,  -1.36984811487398749e-7,  -3.27941894662984685e-7,
    9.22378640284931248e-7,   1.58008647272897867e-6,  -5.82374723805075154e-6,  -0.000010131562822501506,
    0.0000358538854526441483, 0.000092258995124845089, -0.000182769905989519733, -0.00101135395708830945,
    -0.000404138874987017226, 0.00894241153786801994,  0.0398425870957340901,    0.103489087300329069,
    0.196742785701367603,     0.294464817723292947,    0.358002302362779901};

// Returns x·Φ(x), with Φ(x) = 1 - erfc(x/√2)/2, and by symmetry erfc(-x/√2)/2 below 0, where the first form
// would cancel.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gelu(D d, V x) {
  using T = hn::TFromD<D>;
  const V half = hn::Set(d, T(0.5)), one = hn::Set(d, T(1)), three = hn::Set(d, T(3));
  const V y = hn::Mul(hn::Abs(x), hn::Set(d, T(0.70710678118654752440)));
  const V t = hn::Div(three, hn::Add(three, y)), s = hn::Sub(hn::Add(t, t), one);
  V sum = hn::Set(d, kErfc<T>[0]);
  for (std::size_t i = 1; i < std::size(kErfc<T>); ++i) sum = hn::MulAdd(sum, s, hn::Set(d, kErfc<T>[i]));
  const V tail = hn::Mul(hn::Mul(hn::Mul(half, t), sum), hn::Exp(d, hn::Neg(hn::Mul(y, y))));
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail)));
}

// Returns x/(1 + exp(-z)). Exp is defined up to `most`; beyond, the quotient rounds to 0 in every element
// type.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesLogistic(D d, V x, V z) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, T(1)), most = hn::Set(d, T(sizeof(T) == 4 ? 88 : 706)), minus = hn::Neg(z);
  const V quotient = hn::Div(x, hn::Add(one, hn::Exp(d, hn::Min(minus, most))));
  return hn::IfThenElse(hn::Gt(minus, most), hn::Mul(x, hn::Zero(d)), quotient);
}

// Returns ½x·(1 + tanh(u)) = x/(1 + exp(-2u)) for u = √(2/π)·(x + 0.044715·x³).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluByTanh(D d, V x) {
  using T = hn::TFromD<D>;
  const V cube = hn::Mul(hn::Mul(x, x), hn::Mul(x, hn::Set(d, T(0.044715))));
  return TimesLogistic(d, x, hn::Mul(hn::Set(d, T(1.59576912160573071176)), hn::Add(x, cube)));
}

template <Activation kActivation, class D, class V = hn::Vec<D>>
HWY_INLINE V Activated(D d, V x) {
  // NaN propagates, unlike with a maximum.
  if constexpr (kActivation == Activation::relu)
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    if constexpr (kActivation == Activation::gelu) return Gelu(d, x);
    if constexpr (kActivation == Activation::gelu_tanh) return GeluByTanh(d, x);
    if constexpr (kActivation == Activation::silu) return TimesLogistic(d, x, x);
  }
  return x;
}

// Loads up to a vector of numbers, `step` apart; lanes beyond `count` are 0.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadSome(D d, const T* from, std::int64_t step, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (step == 1 && count >= lanes) return hn::LoadU(d, from);
  if (step == 0) return hn::Set(d, *from);
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
  for (std::int64_t l = 0; l < std::min(count, lanes); ++l) buffer[l] = from[l * step];
  return hn::Load(d, buffer);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreSome(D d, hn::Vec<D> value, T* to, std::int64_t step, std::int64_t count) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (step == 1 && count >= lanes) return hn::StoreU(value, d, to);
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(value, d, buffer);
  for (std::int64_t l = 0; l < std::min(count, lanes); ++l) to[l * step] = buffer[l];
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE bool AllNormal(D d, V x) {
  const V size = hn::Abs(x);
  return hn::AllTrue(d, hn::And(hn::Ge(size, hn::Set(d, std::numeric_limits<float>::min())),
                                hn::Le(size, hn::Set(d, std::numeric_limits<float>::max()))));
}

// Applies scales, α and β. Element by element where f64 takes over: the product of the factors left f32's
// range.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LoadScaled(D d, const EpilogueProblem<float>& p, std::int64_t e, std::int64_t i, std::int64_t j,
                        std::int64_t count) {
  const float* const sums = p.sums + place(p.of_sums, e, i, j);
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) {
    V first = hn::Set(d, p.alpha);
    if (p.scale_a != nullptr)
      first = hn::Mul(first, LoadSome(d, p.scale_a + place(p.of_scale_a, e, i, j), p.of_scale_a.col, count));
    V factor = first;
    if (p.scale_b != nullptr)
      factor =
          hn::Mul(factor, LoadSome(d, p.scale_b + place(p.of_scale_b, e, i, j), p.of_scale_b.col, count));
    if (AllNormal(d, first) && AllNormal(d, factor)) {
      const V product = hn::Mul(factor, LoadSome(d, sums, p.of_sums.col, count));
      if (p.c0 == nullptr) return product;
      const V added = LoadSome(d, p.c0 + place(p.of_c0, e, i, j), p.of_c0.col, count);
      return hn::Add(product, hn::Mul(hn::Set(d, p.beta), added));
    }
  }
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::int64_t l = 0; l < std::min(count, static_cast<std::int64_t>(hn::Lanes(d))); ++l)
    buffer[l] = scaled(p, e, i, j + l, sums[l * p.of_sums.col]);
  return hn::Load(d, buffer);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadSums(D d, const EpilogueProblem<T>& p, std::int64_t e, std::int64_t i,
                               std::int64_t j, std::int64_t count) {
  if constexpr (std::is_same_v<T, float>)
    if (p.scaled) return LoadScaled(d, p, e, i, j, count);
  return LoadSome(d, p.sums + place(p.of_sums, e, i, j), p.of_sums.col, count);
}

template <Activation kActivation, class T>
void EpilogueRow(const EpilogueProblem<T>& p, std::int64_t e, std::int64_t i, std::int64_t j,
                 std::int64_t end) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; j < end; j += lanes) {
    auto x = LoadSums(d, p, e, i, j, end - j);
    if (p.bias != nullptr)
      x = hn::Add(x, LoadSome(d, p.bias + place(p.of_bias, e, i, j), p.of_bias.col, end - j));
    StoreSome(d, Activated<kActivation>(d, x), p.c + place(p.of_c, e, i, j), p.of_c.col, end - j);
  }
}

// Computes columns [j, end) of row i of entry e.
template <class T>
HWY_NOINLINE void EpilogueRow(const EpilogueProblem<T>& p, std::int64_t e, std::int64_t i, std::int64_t j,
                              std::int64_t end) {
  switch (p.post_op.activation) {
    case Activation::relu:
      return EpilogueRow<Activation::relu>(p, e, i, j, end);
    case Activation::gelu:
      return EpilogueRow<Activation::gelu>(p, e, i, j, end);
    case Activation::gelu_tanh:
      return EpilogueRow<Activation::gelu_tanh>(p, e, i, j, end);
    case Activation::silu:
      return EpilogueRow<Activation::silu>(p, e, i, j, end);
    case Activation::none:
      return EpilogueRow<Activation::none>(p, e, i, j, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#endif
