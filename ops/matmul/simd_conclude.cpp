// SPDX-License-Identifier: Apache-2.0
// The conclusion of a product on the processors, where no rung of its own applies it while it stores.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/simd_conclude.cpp"
#include "tessera/core/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "simd_conclude-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {

// Rows count through all entries.
template <class T>
void ConcludeRows(const Conclusion<T>& p, std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) ConcludeRow(p, row / p.m, row % p.m, 0, p.n);
}
void conclude_f32(const Conclusion<float>& p, std::int64_t first, std::int64_t last) {
  ConcludeRows(p, first, last);
}
void conclude_f64(const Conclusion<double>& p, std::int64_t first, std::int64_t last) {
  ConcludeRows(p, first, last);
}
void conclude_i32(const Conclusion<std::int32_t>& p, std::int64_t first, std::int64_t last) {
  ConcludeRows(p, first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include "tessera/core/parallel.hpp"

namespace tessera::matmul {
namespace {

HWY_EXPORT(conclude_f32);
HWY_EXPORT(conclude_f64);
HWY_EXPORT(conclude_i32);

template <class T>
void conclude_rows(const Conclusion<T>& p, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<T, float>) HWY_DYNAMIC_DISPATCH(conclude_f32)(p, first, last);
  else if constexpr (std::is_same_v<T, double>) HWY_DYNAMIC_DISPATCH(conclude_f64)(p, first, last);
  else HWY_DYNAMIC_DISPATCH(conclude_i32)(p, first, last);
}

}  // namespace

template <class T>
void conclude_on_processors(const Conclusion<T>& given, int threads) {
  constexpr std::int64_t worth_a_thread = 1 << 14;  // elements
  const Conclusion<T> p = given.of_c.col != 1 && given.of_c.row == 1 ? given.turned() : given;
  const std::int64_t rows = p.batch * p.m;
  if (rows == 0 || p.n == 0) return;
  const auto parts =
      std::clamp<std::int64_t>(rows * p.n / worth_a_thread, 1, std::min<std::int64_t>(threads, rows));
  parallel(static_cast<int>(parts),
           [&](int part) { conclude_rows(p, rows * part / parts, rows * (part + 1) / parts); });
}

template void conclude_on_processors(const Conclusion<float>&, int);
template void conclude_on_processors(const Conclusion<double>&, int);
template void conclude_on_processors(const Conclusion<std::int32_t>&, int);

}  // namespace tessera::matmul
#endif
