// SPDX-License-Identifier: Apache-2.0
// GPU rung 6: shared tiles, with the loop over a tile's depth unrolled.
//
// A tile's depth is a compile-time constant. Unrolling removes the counter, the comparison and the address
// arithmetic, and lets one wide load read four neighbours in a row of A's tile. Each tile still waits for its
// loads from global memory.
#include "ops/matmul/kernels/simt/coarsened.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  int tile = 16;
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
using Unrolled = Coarsened<T, Coarsening{.tile = config.tile, .unroll = 1}>;

const KernelRung<Problem, Config, Unrolled, Config{16}, Config{4}, Config{8}, Config{32}> rung{
    "shared tiles, the loop over a tile's depth unrolled"};

}  // namespace
}  // namespace tessera::matmul
