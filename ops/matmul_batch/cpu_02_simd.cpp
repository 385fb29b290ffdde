// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: the vectorized product, cores spread over the entries. The fastest CPU rung.
//
// Entries that fill whole rounds of all cores are computed by one core each: no core waits for another's
// panels, and a small entry wakes no threads. The few that are left are divided among all cores. The order of
// an element's sum depends on k alone, so its bits are the same either way.
#include "matmul_batch.hpp"
#include "ops/matmul/kernels/cpu/simd.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul_batch {
namespace {

template <class T>
void multiply(const Problem<T>& p, int threads) {
  if (p.first.m() == 0 || p.first.n() == 0) return;  // there may be too many empty entries to loop over
  constexpr std::int64_t min_work = 32 * 32 * 32;    // multiply-adds worth another thread
  const std::int64_t whole_rounds = p.batch / threads * threads;
  const double work = static_cast<double>(p.first.m()) * static_cast<double>(p.first.n()) *
                      static_cast<double>(p.first.k() + 1) * static_cast<double>(whole_rounds);
  const int useful = static_cast<int>(std::clamp(work / min_work, 1.0, static_cast<double>(threads)));
  if (whole_rounds > 0)
    parallel(useful, [&](int part) {
      for (std::int64_t e = whole_rounds * part / useful; e < whole_rounds * (part + 1) / useful; ++e)
        matmul::multiply_simd(p.entry(e), 1);
    });
  for (std::int64_t e = whole_rounds; e < p.batch; ++e) matmul::multiply_simd(p.entry(e), threads);
}

const Rung rung{
    "vectors, packed panels; a core for each entry, the last few entries divided among all cores",
    Where::cpu,
    {choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { multiply(p, run.device->threads); })}};

}  // namespace
}  // namespace tessera::matmul_batch
