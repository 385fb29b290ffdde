// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/verify/check_vectors.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <cmath>
#include "ops/matmul/verify/check_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using V = hn::Vec<Wide>;
constexpr Wide wide;

// A sum in double-double: the nearest double, and the remainder.
struct Exact {
  V high, error;

  // D. E. Knuth's TwoSum: the rounding error of an addition is itself a double.
  HWY_INLINE void add(V value) {
    const V sum = hn::Add(high, value), back = hn::Sub(sum, high);
    const V rounding = hn::Add(hn::Sub(high, hn::Sub(sum, back)), hn::Sub(value, back));
    high = sum;
    error = hn::Add(error, rounding);
  }
};

// Returns a·b - product, which is a double too. Without the instruction, the C library's fma.
HWY_INLINE V product_error(V a, V b, V product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  HWY_ALIGN double x[HWY_MAX_BYTES / 8], y[HWY_MAX_BYTES / 8], z[HWY_MAX_BYTES / 8];
  hn::Store(a, wide, x);
  hn::Store(b, wide, y);
  hn::Store(product, wide, z);
  for (std::size_t i = 0; i < hn::Lanes(wide); ++i) z[i] = std::fma(x[i], y[i], -z[i]);
  return hn::Load(wide, z);
#endif
}

template <bool exact>
HWY_INLINE void add_products(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::int64_t depth,
                             const RowSums& sums, std::int64_t at) {
  const auto next = static_cast<std::int64_t>(hn::Lanes(wide));
  Exact first{hn::LoadU(wide, sums.high + at), hn::Zero(wide)},
      second{hn::LoadU(wide, sums.high + at + next), hn::Zero(wide)};
  V first_magnitude = hn::LoadU(wide, sums.magnitude + at),
    second_magnitude = hn::LoadU(wide, sums.magnitude + at + next);
  if constexpr (exact) {
    first.error = hn::LoadU(wide, sums.error + at);
    second.error = hn::LoadU(wide, sums.error + at + next);
  }
  const auto step = [](V factor, V value, Exact& sum, V& magnitude) HWY_ATTR {
    const V product = hn::Mul(factor, value);
    magnitude = hn::Add(magnitude, hn::Abs(product));
    if constexpr (!exact) {
      sum.high = hn::Add(sum.high, product);
    } else {
      sum.add(product);
      sum.error = hn::Add(sum.error, product_error(factor, value, product));
    }
  };
  for (std::int64_t l = 0; l < depth; ++l) {
    const V factor = hn::Set(wide, a[l]);
    step(factor, hn::LoadU(wide, b + l * tile_side), first, first_magnitude);
    step(factor, hn::LoadU(wide, b + l * tile_side + next), second, second_magnitude);
  }
  hn::StoreU(first.high, wide, sums.high + at);
  hn::StoreU(second.high, wide, sums.high + at + next);
  hn::StoreU(first_magnitude, wide, sums.magnitude + at);
  hn::StoreU(second_magnitude, wide, sums.magnitude + at + next);
  if constexpr (exact) {
    hn::StoreU(first.error, wide, sums.error + at);
    hn::StoreU(second.error, wide, sums.error + at + next);
  }
}

void add_tile_of(const double* a, std::int64_t rows, const double* b, std::int64_t depth,
                 const RowSums& sums) {
  const auto step = static_cast<std::int64_t>(2 * hn::Lanes(wide));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < tile_side; j += step) {
      if (sums.error == nullptr)
        add_products<false>(a + r * tile_side, b + j, depth, sums, r * sums.stride + j);
      else add_products<true>(a + r * tile_side, b + j, depth, sums, r * sums.stride + j);
    }
}

HWY_INLINE V load(const double* from) { return hn::LoadU(wide, from); }
HWY_INLINE V load(const float* from) {
  const hn::Rebind<float, Wide> narrow;
  return hn::PromoteTo(wide, hn::LoadU(narrow, from));
}

template <class T>
HWY_INLINE Fold fold_any(const T* HWY_RESTRICT values, const double* HWY_RESTRICT signs,
                         std::int64_t length) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(wide));
  Exact sums[2] = {{hn::Zero(wide), hn::Zero(wide)}, {hn::Zero(wide), hn::Zero(wide)}};
  V squares[2] = {hn::Zero(wide), hn::Zero(wide)};
  // Sums of floats are doubles already.
  const auto take = [&](V value, V sign, int into) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) sums[into].high = hn::MulAdd(value, sign, sums[into].high);
    else sums[into].add(hn::Mul(value, sign));
    squares[into] = hn::MulAdd(value, value, squares[into]);
  };
  std::int64_t at = 0;
  for (; at + 2 * step <= length; at += 2 * step) {
    take(load(values + at), load(signs + at), 0);
    take(load(values + at + step), load(signs + at + step), 1);
  }
  sums[0].add(sums[1].high);
  HWY_ALIGN double lanes[HWY_MAX_BYTES / 8];
  hn::Store(sums[0].high, wide, lanes);
  long double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(sums[0].error, sums[1].error)));
  for (std::int64_t i = 0; i < step; ++i) sum += static_cast<long double>(lanes[i]);
  double rest = 0;
  for (; at < length; ++at) {
    const double value = values[at];
    sum += static_cast<long double>(value * signs[at]);
    rest += value * value;
  }
  return {static_cast<double>(sum),
          rest + hn::GetLane(hn::SumOfLanes(wide, hn::Add(squares[0], squares[1])))};
}

Fold fold_f32(const float* values, const double* signs, std::int64_t length) {
  return fold_any(values, signs, length);
}
Fold fold_f64(const double* values, const double* signs, std::int64_t length) {
  return fold_any(values, signs, length);
}

template <class T>
HWY_INLINE Dots dots_any(FourRows<T> rows, const double* HWY_RESTRICT x, const double* HWY_RESTRICT y,
                         std::int64_t length) {
  const auto step = static_cast<std::int64_t>(hn::Lanes(wide));
  V sum0 = hn::Zero(wide), sum1 = sum0, sum2 = sum0, sum3 = sum0, most0 = sum0, most1 = sum0, most2 = sum0,
    most3 = sum0;
  std::int64_t at = 0;
  for (; at + step <= length; at += step) {
    const V factor = load(x + at), norm = load(y + at);
    const auto take = [&](const T* row, V& sum, V& most) HWY_ATTR {
      const V value = load(row + at);
      sum = hn::MulAdd(value, factor, sum);
      most = hn::MulAdd(hn::Abs(value), norm, most);
    };
    take(rows[0], sum0, most0);
    take(rows[1], sum1, most1);
    take(rows[2], sum2, most2);
    take(rows[3], sum3, most3);
  }
  const auto total = [](V value) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(wide, value)); };
  Dots out{{total(sum0), total(sum1), total(sum2), total(sum3)},
           {total(most0), total(most1), total(most2), total(most3)}};
  for (; at < length; ++at)
    for (int r = 0; r < rows_at_once; ++r) {
      const double value = rows[r][at];
      out.sum[r] += value * x[at];
      out.magnitude[r] += std::fabs(value) * y[at];
    }
  return out;
}

Dots dots_f32(FourRows<float> rows, const double* x, const double* y, std::int64_t length) {
  return dots_any<float>(rows, x, y, length);
}
Dots dots_f64(FourRows<double> rows, const double* x, const double* y, std::int64_t length) {
  return dots_any<double>(rows, x, y, length);
}

void products_u32(FourRows<std::uint32_t> rows, const std::uint32_t* HWY_RESTRICT x, std::int64_t length,
                  std::int64_t count, std::uint32_t (&out)[rows_at_once][vectors]) {
  const hn::CappedTag<std::uint32_t, vectors> whole;
  for (std::int64_t v = 0; v < count; v += static_cast<std::int64_t>(hn::Lanes(whole))) {
    auto sum0 = hn::Zero(whole), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (std::int64_t l = 0; l < length; ++l) {
      const auto factor = hn::LoadU(whole, x + l * vectors + v);
      sum0 = hn::Add(sum0, hn::Mul(hn::Set(whole, rows[0][l]), factor));
      sum1 = hn::Add(sum1, hn::Mul(hn::Set(whole, rows[1][l]), factor));
      sum2 = hn::Add(sum2, hn::Mul(hn::Set(whole, rows[2][l]), factor));
      sum3 = hn::Add(sum3, hn::Mul(hn::Set(whole, rows[3][l]), factor));
    }
    hn::StoreU(sum0, whole, out[0] + v);
    hn::StoreU(sum1, whole, out[1] + v);
    hn::StoreU(sum2, whole, out[2] + v);
    hn::StoreU(sum3, whole, out[3] + v);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::matmul {

HWY_EXPORT(add_tile_of);
HWY_EXPORT(fold_f32);
HWY_EXPORT(fold_f64);
HWY_EXPORT(dots_f32);
HWY_EXPORT(dots_f64);
HWY_EXPORT(products_u32);

void add_tile(const double* a, std::int64_t rows, const double* b, std::int64_t depth, const RowSums& sums) {
  HWY_DYNAMIC_DISPATCH(add_tile_of)(a, rows, b, depth, sums);
}
Fold fold(const float* values, const double* signs, std::int64_t length) {
  return HWY_DYNAMIC_DISPATCH(fold_f32)(values, signs, length);
}
Fold fold(const double* values, const double* signs, std::int64_t length) {
  return HWY_DYNAMIC_DISPATCH(fold_f64)(values, signs, length);
}
Dots dots(FourRows<float> rows, const double* x, const double* y, std::int64_t length) {
  return HWY_DYNAMIC_DISPATCH(dots_f32)(rows, x, y, length);
}
Dots dots(FourRows<double> rows, const double* x, const double* y, std::int64_t length) {
  return HWY_DYNAMIC_DISPATCH(dots_f64)(rows, x, y, length);
}
void products(FourRows<std::uint32_t> rows, const std::uint32_t* x, std::int64_t length, std::int64_t count,
              std::uint32_t (&out)[rows_at_once][vectors]) {
  HWY_DYNAMIC_DISPATCH(products_u32)(rows, x, length, count, out);
}

}  // namespace tessera::matmul
#endif
