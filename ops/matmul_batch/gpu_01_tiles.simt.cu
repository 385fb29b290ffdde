// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: the single product's vectorized tiles, a layer of blocks for each entry.
//
// All entries are one launch: small ones fill the device together, which each alone would leave idle. A block
// goes on to further entries where there are more than a grid has layers. What limits it: the plain
// multiply-adds, and the tiles that hang over an entry's edges.
#include "matmul_batch.hpp"
#include "ops/matmul/vectorized.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::VectorizedConfig;

constexpr std::int64_t most_layers = 65535;

template <class T, VectorizedConfig config>
struct Tiles {
  using OfOne = matmul::Vectorized<T, config>;
  using Shared = typename OfOne::Shared;
  static constexpr int threads = OfOne::threads;

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    Launch out = OfOne::launch(p.first, tuning);
    out.grid.z = p.batch < most_layers ? p.batch : most_layers;
    return out;
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    SIMT_NO_UNROLL
    for (std::int64_t e = thread.block().z; e < p.batch; e += most_layers)
      OfOne()(thread, shared, p.entry(e));
  }
};

const KernelRung<Problem, VectorizedConfig, Tiles, VectorizedConfig{64, 64}, VectorizedConfig{128, 128}> rung{
    "vectorized tiles, a layer of blocks for each entry, one launch"};

}  // namespace
}  // namespace tessera::matmul_batch
