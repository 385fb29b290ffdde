// SPDX-License-Identifier: Apache-2.0
// The products that `verify` tries.
#pragma once
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

// Sizes on both sides of every tile's edge, every op, every way of scaling; small, for they are tried on
// every choice of every rung.
std::vector<Case> cases();

}  // namespace tessera::matmul
