// SPDX-License-Identifier: Apache-2.0
// Whether a tile that the caller names is there for a product, so that no other is taken in its name.
#pragma once
#include "tessera/core/variant.hpp"
#include "tile_plan.hpp"

namespace tessera::matmul {

// Why there is no such tile; nothing: there is. `tile`: counted from 1, 0: none is named. `tiles`: bits of
// those among `shapes` that have kernels for how the operands lie.
Reason refuses_tile(int tile, TileShapes shapes, unsigned tiles);

}  // namespace tessera::matmul
