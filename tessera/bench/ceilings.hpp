// SPDX-License-Identifier: Apache-2.0
// Peak rates of a device, measured once and cached: the roofs of the roofline.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include "tessera/core/device/device.hpp"
#include "tessera/run/multi_device/prediction.hpp"

namespace tessera::bench {

struct MeasuredCeilings {
  Ceilings rates;
  std::string date;  // date of the last measurement

  bool empty() const { return rates.empty(); }
};

// Measures each rate as the best of several short runs; empty: the device has no ceilings (the executor).
MeasuredCeilings measure_ceilings(const Device& device);

// Returns the higher of each rate, with the date of `now`.
MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now);

// Reads the cache folder's ceilings for a device of this name, driver and number of threads.
std::optional<MeasuredCeilings> known_ceilings(const Device& device);
std::string remember(const Device& device, const MeasuredCeilings& ceilings);  // "", or why it failed

// Returns the cached ceilings; otherwise measures and caches them.
Ceilings ceilings_of(const Device& device);

// Measures copies between the host's memory and these devices together, and from device to device. Returns
// std::nullopt if one of them has no streams.
std::optional<LinkRates> measure_links(std::span<const Device> devices);
std::optional<LinkRates> known_links(std::span<const Device> devices);
std::string remember(std::span<const Device> devices, const LinkRates& rates);  // "", or why it failed

// Returns the best rate of several short runs, so that other load on the machine does not lower it. Stops
// when `fewest` runs have not improved the best, or after `most` runs.
double best_of(int fewest, int most, const std::function<double()>& rate);

// Measures the CPU's peak rate: register-to-register multiply-adds in the widest vectors, fused for floating
// point. A multiply-add counts as two. Element::f32, f64 or i32; takes a few milliseconds.
double fma_flops_per_second(Element element, int threads);
// Returns the higher rate of a copy and a triad over arrays larger than the caches, on device.threads
// threads.
double copy_bytes_per_second(const Device& device);

}  // namespace tessera::bench
