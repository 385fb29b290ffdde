// SPDX-License-Identifier: Apache-2.0
// GPU rung 7: shared tiles, with the next tiles prefetched.
//
// The loads of the next step into registers are issued before this step's arithmetic, which hides their
// latency. If other blocks on the multiprocessor already hide it, little is gained: the limit is two loads
// from shared memory for each multiply-add.
#include "ops/matmul/kernels/simt/coarsened.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  int tile = 16;
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
using Prefetched = Coarsened<T, Coarsening{.tile = config.tile, .prefetch = 1}>;

const KernelRung<Problem, Config, Prefetched, Config{16}, Config{4}, Config{8}, Config{32}> rung{
    "shared tiles, the next ones fetched into registers while these are used"};

}  // namespace
}  // namespace tessera::matmul
