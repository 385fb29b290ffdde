// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/bench/peak.cpp"
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)  // no arrays of vectors
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "tessera/core/thread.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V multiply_add(V x, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::MulAdd(x, a, b);
  else return hn::Add(hn::Mul(x, a), b);
}

// Enough chains to hide the latency of two units, few enough for 16 registers. Returns the flops done.
template <class T>
HWY_NOINLINE double chain_fmas(long steps) {
  constexpr int chains = 12;
  const hn::ScalableTag<T> d;
  volatile T factor = hwy::IsFloat<T>() ? T(0.5) : T(3), term = T(1), sink;  // unknown to the compiler
  const auto a = hn::Set(d, factor), b = hn::Set(d, term);
  hn::Vec<decltype(d)> sums[chains];
  for (int c = 0; c < chains; ++c) sums[c] = hn::Set(d, static_cast<T>(c));
  for (long s = 0; s < steps; ++s) {
    SIMT_UNROLL
    for (int c = 0; c < chains; ++c) sums[c] = multiply_add(sums[c], a, b);
  }
  auto total = sums[0];
  SIMT_UNROLL
  for (int c = 1; c < chains; ++c) total = hn::Add(total, sums[c]);
  sink = hn::GetLane(total);
  (void)sink;
  return 2.0 * static_cast<double>(steps) * chains * static_cast<double>(hn::Lanes(d));
}

double chain_f32(long steps) { return chain_fmas<float>(steps); }
double chain_f64(long steps) { return chain_fmas<double>(steps); }
double chain_i32(long steps) { return chain_fmas<std::int32_t>(steps); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>
#include "tessera/core/parallel.hpp"
#include "tessera/bench/statistics.hpp"
#include "tessera/bench/ceilings.hpp"

namespace tessera::bench {

HWY_EXPORT(chain_f32);
HWY_EXPORT(chain_f64);
HWY_EXPORT(chain_i32);

namespace {

double chain(Element element, long steps) {
  switch (element) {
    case Element::f32:
      return HWY_DYNAMIC_DISPATCH(chain_f32)(steps);
    case Element::f64:
      return HWY_DYNAMIC_DISPATCH(chain_f64)(steps);
    case Element::i32:
      return HWY_DYNAMIC_DISPATCH(chain_i32)(steps);
    default:
      throw Error(Error::Kind::internal, "no loop of multiply-adds of " + std::string(name_of(element)));
  }
}

}  // namespace

// Each thread by its own watch: it need not wait for the others.
Reached fma_reached(Element element, int threads) {
  constexpr long steps = 400000;
  std::vector<Reached> all(static_cast<std::size_t>(std::max(1, threads)));
  parallel(static_cast<int>(all.size()), [&](int part) {
    const double busy = thread_seconds();
    const Stopwatch watch;
    const double flops = chain(element, steps), seconds = watch.seconds();
    all[static_cast<std::size_t>(part)] = {flops / seconds, 1 - (thread_seconds() - busy) / seconds};
  });
  Reached out;
  for (const Reached& one : all) {
    out.rate += one.rate;
    out.waited = std::max(out.waited, one.waited);
  }
  return out;
}

double fma_flops_per_second(Element element, int threads) { return fma_reached(element, threads).rate; }

}  // namespace tessera::bench
#endif
