// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/power.hpp"

namespace tessera::bench {

void PowerMeter::begin(double now) {
  since_ = now;
  renewed_ = false;
}

std::optional<double> PowerMeter::read(std::optional<double> watts, double now) {
  // Without an earlier reading none can be told from this.
  renewed_ = renewed_ || (watts && last_ && *watts != *last_);
  if (watts) last_ = watts;
  return renewed_ && now - since_ >= shortest_turn_seconds ? watts : std::nullopt;
}

}  // namespace tessera::bench
