// SPDX-License-Identifier: Apache-2.0
// Makes a device's result wrong, in that device's memory: so that it can be seen to be found.
#pragma once
#include "tessera/core/device.hpp"
#include "tessera/run/fault.hpp"

namespace tessera {

// A fault that is no damage does nothing. `result` may be empty.
void damage(const Fault& fault, const ArrayView& result, Backend& backend, const Run& run);

}  // namespace tessera
