// SPDX-License-Identifier: Apache-2.0
// The epilogue pass on the CPU, for rungs that do not fuse the epilogue.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/epilogue/epilogue_simd.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "ops/matmul/epilogue/epilogue_simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {

// Rows are numbered through all batch entries.
template <class T>
void EpilogueRows(const EpilogueProblem<T>& p, std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) EpilogueRow(p, row / p.m, row % p.m, 0, p.n);
}
void epilogue_f32(const EpilogueProblem<float>& p, std::int64_t first, std::int64_t last) {
  EpilogueRows(p, first, last);
}
void epilogue_f64(const EpilogueProblem<double>& p, std::int64_t first, std::int64_t last) {
  EpilogueRows(p, first, last);
}
void epilogue_i32(const EpilogueProblem<std::int32_t>& p, std::int64_t first, std::int64_t last) {
  EpilogueRows(p, first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include "tessera/core/device/parallel.hpp"

namespace tessera::matmul {
namespace {

HWY_EXPORT(epilogue_f32);
HWY_EXPORT(epilogue_f64);
HWY_EXPORT(epilogue_i32);

template <class T>
void epilogue_rows(const EpilogueProblem<T>& p, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<T, float>) HWY_DYNAMIC_DISPATCH(epilogue_f32)(p, first, last);
  else if constexpr (std::is_same_v<T, double>) HWY_DYNAMIC_DISPATCH(epilogue_f64)(p, first, last);
  else HWY_DYNAMIC_DISPATCH(epilogue_i32)(p, first, last);
}

}  // namespace

template <class T>
void run_epilogue_on_cpu(const EpilogueProblem<T>& given, int threads) {
  constexpr std::int64_t worth_a_thread = 1 << 14;  // elements
  const EpilogueProblem<T> p = given.of_c.col != 1 && given.of_c.row == 1 ? given.transposed() : given;
  const std::int64_t rows = p.batch * p.m;
  if (rows == 0 || p.n == 0) return;
  const auto parts =
      std::clamp<std::int64_t>(rows * p.n / worth_a_thread, 1, std::min<std::int64_t>(threads, rows));
  parallel(static_cast<int>(parts),
           [&](int part) { epilogue_rows(p, rows * part / parts, rows * (part + 1) / parts); });
}

template void run_epilogue_on_cpu(const EpilogueProblem<float>&, int);
template void run_epilogue_on_cpu(const EpilogueProblem<double>&, int);
template void run_epilogue_on_cpu(const EpilogueProblem<std::int32_t>&, int);

}  // namespace tessera::matmul
#endif
