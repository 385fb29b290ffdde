// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/checksums_vectors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "ops/matmul/checksums_vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::CappedTag<double, 8>;
using V = hn::Vec<Wide>;
constexpr Wide wide;

HWY_INLINE V load(const double* from) { return hn::LoadU(wide, from); }
HWY_INLINE V load(const float* from) {
  const hn::Rebind<float, Wide> narrow;
  return hn::PromoteTo(wide, hn::LoadU(narrow, from));
}

// Four sums side by side, lest each addition wait for the one before.
template <class T>
HWY_INLINE Summed weighted_sums_any(const T* HWY_RESTRICT x, const double* HWY_RESTRICT weights,
                                    const double* HWY_RESTRICT sizes, std::int64_t length) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  V sum0 = hn::Zero(wide), sum1 = sum0, sum2 = sum0, sum3 = sum0, square0 = sum0, square1 = sum0,
    square2 = sum0, square3 = sum0;
  const auto take = [&](std::int64_t at, V& sum, V& square) HWY_ATTR {
    const V value = load(x + at), sized = hn::Mul(value, load(sizes + at));
    sum = hn::MulAdd(value, load(weights + at), sum);
    square = hn::MulAdd(sized, sized, square);
  };
  std::int64_t at = 0;
  for (; at + 4 * lanes <= length; at += 4 * lanes) {
    take(at, sum0, square0);
    take(at + lanes, sum1, square1);
    take(at + 2 * lanes, sum2, square2);
    take(at + 3 * lanes, sum3, square3);
  }
  for (; at + lanes <= length; at += lanes) take(at, sum0, square0);
  Summed out{
      hn::GetLane(hn::SumOfLanes(wide, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)))),
      hn::GetLane(hn::SumOfLanes(wide, hn::Add(hn::Add(square0, square1), hn::Add(square2, square3))))};
  for (; at < length; ++at) {
    const double value = static_cast<double>(x[at]), sized = value * sizes[at];
    out.sum += value * weights[at];
    out.squares += sized * sized;
  }
  return out;
}

template <class T>
HWY_INLINE void add_weighted_any(const T* const (&lines)[lines_at_once],
                                 const double (&weights)[lines_at_once], const double (&sizes)[lines_at_once],
                                 std::int64_t length, double* HWY_RESTRICT sums,
                                 double* HWY_RESTRICT squares) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  std::int64_t at = 0;
  for (; at + lanes <= length; at += lanes) {
    V sum = load(sums + at), square = load(squares + at);
    for (int line = 0; line < lines_at_once; ++line) {
      const V value = load(lines[line] + at), sized = hn::Mul(value, hn::Set(wide, sizes[line]));
      sum = hn::MulAdd(value, hn::Set(wide, weights[line]), sum);
      square = hn::MulAdd(sized, sized, square);
    }
    hn::StoreU(sum, wide, sums + at);
    hn::StoreU(square, wide, squares + at);
  }
  for (; at < length; ++at)
    for (int line = 0; line < lines_at_once; ++line) {
      const double value = static_cast<double>(lines[line][at]), sized = value * sizes[line];
      sums[at] += value * weights[line];
      squares[at] += sized * sized;
    }
}

Summed weighted_sums_f32(const float* x, const double* weights, const double* sizes, std::int64_t length) {
  return weighted_sums_any(x, weights, sizes, length);
}
Summed weighted_sums_f64(const double* x, const double* weights, const double* sizes, std::int64_t length) {
  return weighted_sums_any(x, weights, sizes, length);
}
void add_weighted_f32(const float* const (&lines)[lines_at_once], const double (&weights)[lines_at_once],
                      const double (&sizes)[lines_at_once], std::int64_t length, double* sums,
                      double* squares) {
  add_weighted_any(lines, weights, sizes, length, sums, squares);
}
void add_weighted_f64(const double* const (&lines)[lines_at_once], const double (&weights)[lines_at_once],
                      const double (&sizes)[lines_at_once], std::int64_t length, double* sums,
                      double* squares) {
  add_weighted_any(lines, weights, sizes, length, sums, squares);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::matmul {

HWY_EXPORT(weighted_sums_f32);
HWY_EXPORT(weighted_sums_f64);
HWY_EXPORT(add_weighted_f32);
HWY_EXPORT(add_weighted_f64);

Summed weighted_sums(const float* x, const double* weights, const double* sizes, std::int64_t length) {
  return HWY_DYNAMIC_DISPATCH(weighted_sums_f32)(x, weights, sizes, length);
}
Summed weighted_sums(const double* x, const double* weights, const double* sizes, std::int64_t length) {
  return HWY_DYNAMIC_DISPATCH(weighted_sums_f64)(x, weights, sizes, length);
}
void add_weighted(const float* const (&lines)[lines_at_once], const double (&weights)[lines_at_once],
                  const double (&sizes)[lines_at_once], std::int64_t length, double* sums, double* squares) {
  HWY_DYNAMIC_DISPATCH(add_weighted_f32)(lines, weights, sizes, length, sums, squares);
}
void add_weighted(const double* const (&lines)[lines_at_once], const double (&weights)[lines_at_once],
                  const double (&sizes)[lines_at_once], std::int64_t length, double* sums, double* squares) {
  HWY_DYNAMIC_DISPATCH(add_weighted_f64)(lines, weights, sizes, length, sums, squares);
}

}  // namespace tessera::matmul
#endif
