// SPDX-License-Identifier: Apache-2.0
// An order that a seed decides, the same on every machine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::tune {

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed);  // of 0 … count - 1

}  // namespace tessera::tune
