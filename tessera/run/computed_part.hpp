// SPDX-License-Identifier: Apache-2.0
// A part that has been computed, and lies in its device's memory still.
#pragma once
#include <functional>
#include "tessera/core/division.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {

class ComputedPart {
 public:
  virtual ~ComputedPart() = default;
  virtual const Plan& plan() const = 0;            // by which it was computed
  virtual const Arguments& arguments() const = 0;  // as the device sees them
  virtual Run& run() = 0;                          // for further work on that device
  virtual void compute_again() = 0;                // complete on return
};

// Called when a part has been computed, in so many seconds, and not yet left the device.
using LookAtPart = std::function<void(const Tile&, ComputedPart&, double seconds)>;

}  // namespace tessera
