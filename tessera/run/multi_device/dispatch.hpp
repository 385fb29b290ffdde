// SPDX-License-Identifier: Apache-2.0
// Several calls, such as one for each of many pictures, each computed whole on one device and taken from a
// queue like the tiles of one call.
#pragma once
#include "tessera/run/multi_device/multi_device.hpp"

namespace tessera {

struct DispatchedCalls {
  std::vector<double> work;  // for each call, in any unit
  // Makes the call by run_on_devices with `on`, which names one device. An exception is the device's failure:
  // another device gets the call. An outcome without devices means that the call never reached the device,
  // because its file could not be read. Called by several threads at once.
  std::function<MultiDeviceOutcome(std::size_t call, const MultiDeviceOptions& on)> make;
};

// The reports count calls as tiles, and so do faults; `make` keeps the calls' outputs and values. Throws
// Error when no device is left.
MultiDeviceOutcome dispatch(const MultiDeviceOptions& options, const DispatchedCalls& calls);

}  // namespace tessera
