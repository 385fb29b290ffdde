// SPDX-License-Identifier: Apache-2.0
// Launches rung 12's kernel: one instantiation per tile and operand layout.
#pragma once
#include <algorithm>
#include <atomic>
#include <utility>
#include "ops/matmul/kernels/mma/mma_kernel.cuh"
#include "tessera/core/array/rounding.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/ptx/control.cuh"

namespace tessera::matmul {

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::config.blocks)
    multiply_blocks(const __grid_constant__ MmaArgs<typename Tile::Kind> args) {
  extern __shared__ __align__(128) unsigned char mma_memory[];
  ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();
  Tile{args, mma_memory}.run();
}

template <class Kind, MmaConfig config, Along along_a, Along along_b>
void launch_blocks(const MmaArgs<Kind>& args, const Run& run) {
  const auto kernel = multiply_blocks<MmaTile<Kind, config, along_a, along_b>>;
  static std::atomic<std::uint64_t> allowed{0};
  // On the first launch on a device, also prefers shared memory to L1, so that more blocks are resident.
  if (detail::allow_shared_bytes(kernel, static_cast<std::size_t>(run.device->max_shared_bytes),
                                 run.device->index, allowed))
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared));
  launch_grid(kernel, {.grid = {args.order.count()}, .block = {config.threads()}},
              smem_bytes_limiting_occupancy(static_cast<std::size_t>(config.shared_bytes()),
                                            args.order.count(), *run.device),
              static_cast<cudaStream_t>(run.stream), run.device->compute_capability >= 90, args);
}

template <class Kind, MmaConfig config>
void launch_tile(Along a, Along b, const MmaArgs<Kind>& args, const Run& run) {
  if (a == Along::k && b == Along::k) return launch_blocks<Kind, config, Along::k, Along::k>(args, run);
  if (a == Along::k) return launch_blocks<Kind, config, Along::k, Along::lines>(args, run);
  if (b == Along::k) return launch_blocks<Kind, config, Along::lines, Along::k>(args, run);
  launch_blocks<Kind, config, Along::lines, Along::lines>(args, run);
}

template <class Kind>
void run_tiles(const typename Kind::Problem& p, const MmaJob& job, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const MmaLaunch<Kind> launch = launch_of<Kind>(p, job, run.workspace);
  const auto& [args, chosen, a, b] = launch;
  [&]<std::size_t... tile>(std::index_sequence<tile...>) {
    ((chosen == static_cast<int>(tile) ? launch_tile<Kind, Kind::tiles[tile]>(a, b, args, run) : void()),
     ...);
  }
  (std::make_index_sequence<std::size(Kind::tiles)>{});
  if (args.order.splits == 1) return;
  const MmaPartials<Kind> partials = partials_of(launch);
  with_reduction(partials, usual_enough_blocks,
                 [&]<class Add> { launch_kernel<Add, Pdl::on>(Add::launch(partials), partials, run); });
}

}  // namespace tessera::matmul
