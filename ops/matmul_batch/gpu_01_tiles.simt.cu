// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: the single product's vectorized tiles, with one layer of the grid (z) for each entry.
//
// One launch computes all entries, so small ones, which would each leave the device idle, fill it together.
// Further launches follow if there are more entries than a grid has layers. The bottlenecks are plain
// multiply-adds, and tiles that extend beyond an entry's edges.
#include "matmul_batch.hpp"
#include "ops/matmul/kernels/simt/vectorized.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::VectorizedConfig;

constexpr std::int64_t max_layers = 65535;

template <class T, VectorizedConfig config>
struct Tiles {
  using OfOne = matmul::Vectorized<T, config>;
  using Shared = typename OfOne::Shared;
  static constexpr int threads = OfOne::threads, micro = OfOne::micro;

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    Launch out = OfOne::launch(p.first, tuning);
    out.grid.z = p.batch < max_layers ? p.batch : max_layers;
    return out;
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const std::int64_t e = thread.block().z;
    T sum[micro][micro] = {};
    OfOne::sum_products(thread, shared, p.first, p.first.a.data + e * p.a_step, p.first.b.data + e * p.b_step,
                        sum);
    OfOne::write_sums(thread, p.entry(e), sum);
  }

  // Launches the entries beyond the first grid. A loop over entries in the kernel would keep addresses of C
  // in registers from one entry to the next; there are none left.
  static void finish(const Problem<T>& p, const Tuning& tuning, Run& run) {
    for (std::int64_t done = max_layers; done < p.batch; done += max_layers) {
      Problem<T> rest = p;
      rest.first = p.entry(done);
      rest.batch = p.batch - done;
      launch_kernel<Tiles>(launch(rest, tuning), rest, run);
    }
  }
};

const KernelRung<Problem, VectorizedConfig, Tiles, VectorizedConfig{64, 64}, VectorizedConfig{128, 128}> rung{
    "vectorized tiles, a layer of blocks for each entry, one launch"};

}  // namespace
}  // namespace tessera::matmul_batch
