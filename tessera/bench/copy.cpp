// SPDX-License-Identifier: Apache-2.0
// What the processors can move between their memory and themselves.
#include <algorithm>
#include <cstring>
#include <vector>
#include "tessera/core/array.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/bench/ceilings.hpp"

namespace tessera::bench {
namespace {

constexpr int fewest = 4, most_rounds = 12;  // of each; the best counts

void triad(double* __restrict to, const double* __restrict a, const double* __restrict b, double factor,
           std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + factor * b[i];
}

}  // namespace

Reached copy_reached(const Device& device) {
  constexpr std::int64_t least = std::int64_t{32} << 20, most = std::int64_t{256} << 20;
  // Three arrays must leave the machine room to breathe.
  const std::int64_t bytes =
      std::clamp(2 * device.cache_bytes, least, std::max(least, std::min(most, device.memory_bytes / 16)));
  const auto count = static_cast<std::size_t>(bytes) / sizeof(double);
  const int parts = std::max(1, device.threads);
  Array a(Element::f64, {static_cast<std::int64_t>(count)}), b(Element::f64, a.extents()),
      c(Element::f64, a.extents());
  double* const arrays[] = {a.as<double>(), b.as<double>(), c.as<double>()};
  volatile double factor = 3;
  // Each thread touches its part first, so that its pages lie near it.
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
    return best_of(fewest, most_rounds,
                   [&] { return reach(parts, moved * static_cast<double>(bytes), part_of(work)); });
  };
  const Reached copied = timed(2, [&](std::size_t from, std::size_t n) {
    std::memcpy(arrays[2] + from, arrays[0] + from, n * sizeof(double));
  });
  const Reached added = timed(3, [&](std::size_t from, std::size_t n) {
    triad(arrays[2] + from, arrays[0] + from, arrays[1] + from, factor, n);
  });
  volatile double sink = arrays[2][count / 2];
  (void)sink;
  return copied.rate > added.rate ? copied : added;
}

}  // namespace tessera::bench
