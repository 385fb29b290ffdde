// SPDX-License-Identifier: Apache-2.0
// What makes a kind of device unusable for the rest of the process, as a kernel's bad access does: for
// showing that a call survives it.
#pragma once
#include <functional>
#include "tessera/core/device.hpp"

namespace tessera {

using Poison = std::function<void(const Device&)>;  // throws what the device says of it

void register_poison(Where where, Poison poison);
const Poison* find_poison(Where where);  // null: nothing does that there

}  // namespace tessera
