// SPDX-License-Identifier: Apache-2.0
// What the command tells of a sum of strips beside its value.
#pragma once
#include "tessera/core/arguments.hpp"
#include "tessera/core/device.hpp"

namespace tessera::integration {

// From the sum that lies in the arguments, and formulas' values at points of its own.
Values told_of_strips(const Arguments& arguments);

}  // namespace tessera::integration
