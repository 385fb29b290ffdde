// SPDX-License-Identifier: Apache-2.0
// What a device can do at most, measured on it once and remembered: the roofs of the roofline.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include "tessera/core/device.hpp"

namespace tessera::bench {

struct MeasuredCeilings {
  Ceilings rates;
  std::string date;  // when they were measured last

  bool empty() const { return rates.empty(); }
};

// The best of several short runs. Empty: the executor has none.
MeasuredCeilings measure_ceilings(const Device& device);

// The higher rate of each; the date of `now`.
MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now);

// What the cache folder holds for a device of this name, driver and number of threads.
std::optional<MeasuredCeilings> known_ceilings(const Device& device);
std::string remember(const Device& device, const MeasuredCeilings& ceilings);  // why it could not, or ""

// The known ones; otherwise measures and remembers them.
Ceilings ceilings_of(const Device& device);

// The best of several short runs: what can be reached, not what a busy machine leaves. At least `fewest`,
// then until the best has stood for as many, and no more than `most`.
double best_of(int fewest, int most, const std::function<double()>& rate);

// Of the processors: multiply-adds from registers to registers, fused for floating point, as many at a time
// as the widest vectors hold. Counts a multiply-add as two. Element::f32, f64 or i32; takes a few
// milliseconds.
double fma_flops_per_second(Element element, int threads);
// A copy or a triad over arrays that no cache holds, on as many threads, whichever moves more.
double copy_bytes_per_second(const Device& device);

}  // namespace tessera::bench
