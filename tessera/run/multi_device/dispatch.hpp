// SPDX-License-Identifier: Apache-2.0
// Several calls, such as one for each picture of many, each whole on one device, taken from the same queue as
// the tiles of one call.
#pragma once
#include "tessera/run/multi_device/multi_device.hpp"

namespace tessera {

struct DispatchedCalls {
  std::vector<double> work;  // of each call, in any unit
  // Makes the call by run_on_devices with `on`, which names one device. What it throws is the device's
  // failure: another gets the call. Without devices in what it returns the call did not come to the device:
  // its file could not be read. Called by several threads at once.
  std::function<MultiDeviceOutcome(std::size_t call, const MultiDeviceOptions& on)> make;
};

// The reports count calls as tiles, as faults do; the calls' outputs and values are the maker's. Throws Error
// when no device is left.
MultiDeviceOutcome dispatch(const MultiDeviceOptions& options, const DispatchedCalls& calls);

}  // namespace tessera
