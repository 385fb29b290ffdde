// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: the vectorized product, cores spread over the entries. The fastest CPU rung.
//
// Entries that fill whole rounds of all cores are computed by one core each: no core waits for another's
// panels, and a small entry wakes no threads. The few that are left are divided among all cores. The order of
// an element's sum depends on k alone, so its bits are the same either way.
#include "matmul_batch.hpp"
#include "ops/matmul/kernels/cpu/packed.hpp"
#include "ops/matmul/kernels/cpu/simd.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul_batch {
namespace {

// Calls one(e, threads) for each entry. `products`: of an entry, m·n·(k + 1).
template <class One>
void each_entry(std::int64_t batch, double products, int threads, const One& one) {
  constexpr std::int64_t min_work = 32 * 32 * 32;  // multiply-adds worth another thread
  const std::int64_t whole_rounds = batch / threads * threads;
  const double work = products * static_cast<double>(whole_rounds);
  const int useful = static_cast<int>(std::clamp(work / min_work, 1.0, static_cast<double>(threads)));
  if (whole_rounds > 0)
    parallel(useful, [&](int part) {
      for (std::int64_t e = whole_rounds * part / useful; e < whole_rounds * (part + 1) / useful; ++e)
        one(e, 1);
    });
  for (std::int64_t e = whole_rounds; e < batch; ++e) one(e, threads);
}

double products(std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k + 1);
}

template <class T>
void multiply(const Problem<T>& p, int threads) {
  if (p.first.m() == 0 || p.first.n() == 0) return;  // there may be too many empty entries to loop over
  each_entry(p.batch, products(p.first.m(), p.first.n(), p.first.k()), threads,
             [&](std::int64_t e, int entry_threads) { matmul::multiply_simd(p.entry(e), entry_threads); });
}

void multiply_mixed(const MixedBatch& p, int threads) {
  if (p.first.m == 0 || p.first.n == 0) return;
  each_entry(p.batch, products(p.first.m, p.first.n, p.first.k), threads,
             [&](std::int64_t e, int entry_threads) { matmul::multiply_packed(p.entry(e), entry_threads); });
}

Choice choice() {
  Choice out =
      choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { multiply(p, run.device->threads); });
  for (const Element element : matmul::packed_elements)
    out.prepare[element] = without_plan([](const Arguments& arguments, const Tuning&, Run& run) {
      multiply_mixed(MixedBatch::of(arguments), run.device->threads);
    });
  out.unsupported_arguments = [held = out.unsupported_arguments](const Arguments& arguments) -> Reason {
    if (!matmul::is_packed(arguments.element())) return held(arguments);
    (void)MixedBatch::of(arguments);  // throws if there is no such product
    return std::nullopt;
  };
  return out;
}

const Rung rung{"vectors, packed panels; a core for each entry, the last few entries divided among all cores",
                Where::cpu,
                {choice()}};

}  // namespace
}  // namespace tessera::matmul_batch
