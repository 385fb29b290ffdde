// SPDX-License-Identifier: Apache-2.0
// GPU rung 7: shared tiles, with the next tiles on their way while these are used.
//
// The loads of the next step are issued before this step's arithmetic and land in registers, so their
// latency passes behind it instead of before it. Where other blocks of the multiprocessor hid it
// already, little is left to gain: two loads from shared memory for each multiply-add are the limit.
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
