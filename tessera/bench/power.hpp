// SPDX-License-Identifier: Apache-2.0
// To whom a power reading belongs. A device's meter shows the mean of a window, and renews it some ten times
// a second: until then it tells of whoever ran before.
#pragma once
#include <optional>

namespace tessera::bench {

class PowerMeter {
 public:
  // The time between two renewals, and before that the window that the earlier of them tells of.
  static constexpr double shortest_turn_seconds = 0.2;

  // From `now`, in seconds, the device works for one candidate only.
  void begin(double now);
  // What the meter shows at `now`, if it is of that candidate: not while its turn is too short for that, or
  // the reading still the one from before it.
  std::optional<double> read(std::optional<double> watts, double now);

 private:
  double since_ = 0;
  bool renewed_ = false;
  std::optional<double> last_;
};

}  // namespace tessera::bench
