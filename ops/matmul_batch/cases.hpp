// SPDX-License-Identifier: Apache-2.0
// The batches that `verify` tries.
#pragma once
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera::matmul_batch {

// No entry, one, many; operands that serve all entries; empty sizes; every op and way of scaling.
std::vector<Case> cases();

}  // namespace tessera::matmul_batch
