// SPDX-License-Identifier: Apache-2.0
// What a device does at most, measured on it once and remembered: the roofs of the roofline.
#pragma once
#include <optional>
#include <string>
#include "tessera/core/device.hpp"

namespace tessera::lab {

Ceilings measure_ceilings(const Device& device);  // empty: the executor has none

// What has been measured on a device of this name, driver and threads. Nothing where the cache has
// no such device, or cannot be understood.
std::optional<Ceilings> known_ceilings(const Device& device);
std::string remember(const Device& device, const Ceilings& ceilings);  // why it could not, or ""

// Those known, else measured and remembered.
Ceilings ceilings_of(const Device& device);

// Of the processors: a copy or a triad over arrays that no cache holds, on as many threads, whichever
// moves more bytes.
double copy_bytes_per_second(const Device& device);

}  // namespace tessera::lab
