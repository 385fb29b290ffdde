// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, as tessera/kernel.hpp describes one, with programmatic dependent launch (PDL): its
// blocks may be scheduled before the previous kernel completes, and wait for its completion first. Then they
// trigger the next launch, unless the kernel has a member `no_early_trigger`: that trigger is implicit at
// exit.
#pragma once
#include <algorithm>
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/ptx/cluster.cuh"

namespace tessera {
inline namespace TESSERA_UNIT {

namespace detail {

template <class Kernel, class Problem>
__global__ void __launch_bounds__(max_threads_per_block<Kernel>(), blocks_per_processor<Kernel>())
    pdl_entry(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(1024) unsigned char pdl_memory[];
  cuda::ptx::griddepcontrol_wait();
  if constexpr (!requires { Kernel::no_early_trigger; }) cuda::ptx::griddepcontrol_launch_dependents();
  Kernel{}(Thread{}, *reinterpret_cast<typename Kernel::Shared*>(pdl_memory), problem);
}

}  // namespace detail

// Registers per thread of the PDL entry; see registers_of().
template <class Kernel, class Problem>
std::optional<int> pdl_registers_of() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, detail::pdl_entry<Kernel, Problem>) == cudaSuccess)
    return attributes.numRegs;
  (void)cudaGetLastError();  // clears the last error
  return std::nullopt;
}

// Dynamic shared memory per block, padded so that at most ceil(blocks / SMs) blocks fit on one SM. Otherwise,
// while the previous kernel drains, the scheduler fills some SMs unevenly: at 1024³ of f64 three blocks on
// some SMs and one on others took 58 µs, two on each take 41 (one NVIDIA H100). With at most one block per SM
// no padding is needed.
inline std::size_t smem_bytes_limiting_occupancy(std::size_t bytes, std::int64_t blocks,
                                                 const Device& device) {
  constexpr std::int64_t reserved_per_block = 1024, granularity = 128;  // of shared memory, by the driver
  const std::int64_t blocks_per_sm = (blocks + device.processors - 1) / device.processors,
                     bytes_that_exclude_one_more = (device.max_shared_bytes + reserved_per_block) /
                                                       (blocks_per_sm + 1) / granularity * granularity +
                                                   granularity;
  return blocks_per_sm <= 1 ? bytes
                            : std::max(bytes, static_cast<std::size_t>(std::max<std::int64_t>(
                                                  bytes_that_exclude_one_more - reserved_per_block, 0)));
}

// evenly: pads dynamic shared memory (above), for kernels long enough to gain from it. A kernel is launched
// one way only: its attributes are set once per device.
template <class Kernel, class Problem>
void launch_with_pdl(const Launch& launch, const Problem& problem, Run& run, bool evenly = false) {
  static std::atomic<std::uint64_t> allowed{0};
  constexpr std::size_t required_bytes = detail::dynamic_bytes<Kernel>();
  const std::size_t bytes =
      evenly ? smem_bytes_limiting_occupancy(required_bytes, launch.blocks(), *run.device) : required_bytes;
  const cuda::OnDevice on_device(run.device->index);
  const auto kernel = detail::pdl_entry<Kernel, Problem>;
  const std::uint64_t before = allowed.load();
  detail::allow_shared_bytes(kernel,
                             evenly ? static_cast<std::size_t>(run.device->max_shared_bytes) : required_bytes,
                             run.device->index, allowed);
  // Once per device, also sets the preferred shared memory carveout so that all co-resident blocks fit;
  // otherwise the SM may keep the previous kernel's split of L1 and shared memory.
  if (evenly && allowed.load() != before) {
    constexpr int blocks = detail::blocks_per_processor<Kernel>();
    const auto carveout_percent =
        static_cast<int>(100 * blocks * (required_bytes + 1024) /
                         static_cast<std::size_t>(run.device->max_shared_bytes + 1024));
    cuda::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             std::min(std::max(100 * blocks / (blocks + 1), carveout_percent) + 1, 100)));
  }
  cudaLaunchAttribute pdl{};
  pdl.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  pdl.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid.x), static_cast<unsigned>(launch.grid.y),
                        static_cast<unsigned>(launch.grid.z));
  config.blockDim = dim3(static_cast<unsigned>(launch.block.x), static_cast<unsigned>(launch.block.y),
                         static_cast<unsigned>(launch.block.z));
  config.dynamicSmemBytes = bytes;
  config.stream = static_cast<cudaStream_t>(run.stream);
  config.attrs = &pdl;
  config.numAttrs = run.device->compute_capability >= 90 ? 1 : 0;
  cuda::check(cudaLaunchKernelEx(&config, kernel, problem));
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
