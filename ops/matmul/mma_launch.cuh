// SPDX-License-Identifier: Apache-2.0
// From a job to the launch of rung 12's kernel: which layouts, which tile.
#pragma once
#include <atomic>
#include <utility>
#include "mma_run.hpp"
#include "mma_tiles.cuh"
#include "tessera/cuda/check.hpp"
#include "tessera/cuda/device.hpp"
#include "tessera/cuda/launch.cuh"

namespace tessera::matmul {

template <class Kind, MmaConfig config, Along along_a, Along along_b>
void launch_blocks(const MmaArgs<Kind>& args, const Run& run) {
  const auto kernel = multiply_blocks<MmaTile<Kind, config, along_a, along_b>>;
  static std::atomic<std::uint64_t> allowed{0};
  detail::allow_shared_bytes(kernel, config.shared_bytes(), run.device->index, allowed);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = static_cast<unsigned>(args.order.count());
  launch.blockDim = config.threads();
  launch.dynamicSmemBytes = config.shared_bytes();
  launch.stream = static_cast<cudaStream_t>(run.stream);
  launch.attrs = &overlap;
  launch.numAttrs = run.device->compute_capability >= 90 ? 1 : 0;
  cuda::check(cudaLaunchKernelEx(&launch, kernel, args));
}

template <class Kind, MmaConfig config>
void launch_tile(Along a, Along b, const MmaArgs<Kind>& args, const Run& run) {
  if (a == Along::k && b == Along::k) return launch_blocks<Kind, config, Along::k, Along::k>(args, run);
  if (a == Along::k) return launch_blocks<Kind, config, Along::k, Along::lines>(args, run);
  if (b == Along::k) return launch_blocks<Kind, config, Along::lines, Along::k>(args, run);
  launch_blocks<Kind, config, Along::lines, Along::lines>(args, run);
}

// Along what is contiguous, or nearer to it.
inline Along along_of(const MmaFactor& x) {
  return x.k_step == 1 || x.k_step <= x.line_step ? Along::k : Along::lines;
}

template <class Kind>
MmaOperand<typename Kind::Element> operand_of(const MmaFactor& x, std::int64_t k) {
  using Element = typename Kind::Element;
  const bool along_k = along_of(x) == Along::k;
  const std::int64_t step = along_k ? x.k_step : x.line_step, other = along_k ? x.line_step : x.k_step;
  const bool whole = step == 1 && ((along_k ? x.lines : k) == 1 || other * Kind::bytes % 16 == 0) &&
                     reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
  return {static_cast<const Element*>(x.data), x.lines, x.line_step, x.k_step, whole};
}

template <class Kind>
void run_tiles(const typename Kind::Problem& p, const MmaJob& job, const MmaElement& element, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const MmaFactor &a = job.turned ? job.b : job.a, &b = job.turned ? job.a : job.b;
  const MmaPlan plan = plan_mma(element, a.lines, b.lines, job.k,
                                {run.device->processors, run.device->max_shared_bytes}, job.wish);
  MmaArgs<Kind> args{.p = p, .a = operand_of<Kind>(a, job.k), .b = operand_of<Kind>(b, job.k)};
  args.k = job.k;
  args.turned = job.turned;
  args.order = plan.order;
  args.depth = plan.depth;
  args.split_depth = plan.split_depth;
  args.arrived = static_cast<std::uint32_t*>(run.workspace);
  args.partial = reinterpret_cast<typename Kind::Sum*>(args.arrived + most_mma_counters);
  [&]<std::size_t... tile>(std::index_sequence<tile...>) {
    ((plan.tile == static_cast<int>(tile)
          ? launch_tile<Kind, Kind::tiles[tile]>(along_of(a), along_of(b), args, run)
          : void()),
     ...);
  }
  (std::make_index_sequence<std::size(Kind::tiles)>{});
}

}  // namespace tessera::matmul
