// SPDX-License-Identifier: Apache-2.0
// Benchmark loops for the CPU's peak rates: multiply-adds in registers, and copies through memory.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/bench/peak.cpp"
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)  // no arrays of vectors
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "tessera/core/device/thread.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V multiply_add(V x, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::MulAdd(x, a, b);
  else return hn::Add(hn::Mul(x, a), b);
}

// Runs enough chains to hide the latency of two units, and few enough for 16 registers. Returns the flops.
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
#include <cstring>
#include <numeric>
#include <vector>
#include "tessera/core/array/array.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/bench/sample.hpp"
#include "tessera/bench/ceilings.hpp"

namespace tessera::bench {

HWY_EXPORT(chain_f32);
HWY_EXPORT(chain_f64);
HWY_EXPORT(chain_i32);

namespace {

constexpr int fewest_rounds = 4,
              max_rounds = 12;  // minimum and maximum number of rounds per loop; the fastest is reported

void triad(double* __restrict to, const double* __restrict a, const double* __restrict b, double factor,
           std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + factor * b[i];
}

}  // namespace

double copy_bytes_per_second(const Device& device) {
  constexpr std::int64_t least = std::int64_t{32} << 20, most = std::int64_t{256} << 20;
  // The three arrays take at most a small part of the memory.
  const std::int64_t bytes =
      std::clamp(2 * device.cache_bytes, least, std::max(least, std::min(most, device.memory_bytes / 16)));
  const auto count = static_cast<std::size_t>(bytes) / sizeof(double);
  const int parts = std::max(1, device.threads);
  Array a(Element::f64, {static_cast<std::int64_t>(count)}), b(Element::f64, a.extents()),
      c(Element::f64, a.extents());
  double* const arrays[] = {a.as<double>(), b.as<double>(), c.as<double>()};
  volatile double factor = 3;
  // Each thread touches its part first, which places the pages on its NUMA node.
  const auto part_of = [&](auto work) {
    return [=](int part) {
      const std::size_t from = count * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts),
                        to = count * static_cast<std::size_t>(part + 1) / static_cast<std::size_t>(parts);
      work(from, to - from);
    };
  };
  parallel(parts, part_of([&](std::size_t from, std::size_t n) {
             for (double* array : arrays) std::fill_n(array + from, n, 1.0);
           }));
  const auto timed = [&](int moved, auto work) {
    return best_of(fewest_rounds, max_rounds, [&] {
      const Stopwatch watch;
      parallel(parts, part_of(work));
      return moved * static_cast<double>(bytes) / watch.seconds();
    });
  };
  const double copied = timed(2, [&](std::size_t from, std::size_t n) {
    std::memcpy(arrays[2] + from, arrays[0] + from, n * sizeof(double));
  });
  const double added = timed(3, [&](std::size_t from, std::size_t n) {
    triad(arrays[2] + from, arrays[0] + from, arrays[1] + from, factor, n);
  });
  volatile double sink = arrays[2][count / 2];
  (void)sink;
  return std::max(copied, added);
}

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

// Each thread times itself, so waiting for others does not count.
double fma_flops_per_second(Element element, int threads) {
  constexpr long steps = 400000;
  std::vector<double> rates(static_cast<std::size_t>(std::max(1, threads)));
  parallel(static_cast<int>(rates.size()), [&](int part) {
    const Stopwatch watch;
    const double flops = chain(element, steps);
    rates[static_cast<std::size_t>(part)] = flops / watch.seconds();
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace tessera::bench
#endif
