// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/fitting.hpp"

namespace tessera::dist {

void plan_to_fit(std::vector<Device> devices, const Planning& planning, const Trying& trying) {
  constexpr int most_tries = 64;  // a few for each manner that comes first meanwhile
  for (int i = 0; i < most_tries; ++i) {
    const Plan plan = planning(devices);
    const std::vector<std::int64_t> taken = trying(plan);
    bool fits = true;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      Device& device = devices[d];
      const std::int64_t beyond = taken[d] - device.memory_bytes;
      if (device.memory_bytes == 0 || beyond <= 0) continue;
      fits = false;
      // Fewer pieces may lie with larger gaps.
      constexpr std::int64_t margin = 64;
      device.spare_bytes[{plan.manner.tile, plan.manner.panel}] += beyond + device.memory_bytes / margin;
    }
    if (fits) return;
  }
  throw Error("no plan fits the devices' memory with its workspace");
}

}  // namespace tessera::dist
