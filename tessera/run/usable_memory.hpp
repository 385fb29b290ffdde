// SPDX-License-Identifier: Apache-2.0
// What a call may take of a device's memory.
#pragma once
#include <algorithm>
#include <vector>
#include "tessera/core/device.hpp"

namespace tessera {

// Of all that is free, the part that a plan may count on: a variant may want room besides. A device that is
// named twice, whole or in parts, shares its memory with itself. `allowed`: the most that was allowed; 0: any
// amount.
inline std::int64_t usable_memory(const Device& device, const std::vector<Device>& all,
                                  std::int64_t allowed) {
  constexpr double usable_part = 0.9;
  const auto sharing = std::ranges::count_if(
      all, [&](const Device& one) { return one.where == device.where && one.index == device.index; });
  const auto free =
      static_cast<std::int64_t>(usable_part * static_cast<double>(backend_of(device).free_memory(device)) /
                                static_cast<double>(sharing));
  return allowed > 0 ? std::min(allowed, free) : free;
}

}  // namespace tessera
