// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, as tessera/kernel.hpp describes one, with programmatic dependent launch (PDL): its
// blocks start while the previous kernel ends, and wait for that kernel's results. They let the next kernel
// start, too, unless the kernel has a member `no_early_trigger`.
#pragma once
#include <algorithm>
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/ptx/cluster.cuh"

namespace tessera {
inline namespace TESSERA_UNIT {

namespace detail {

template <class Kernel, class Problem>
__global__ void __launch_bounds__(most_threads<Kernel>(), blocks_per_processor<Kernel>())
    pdl_entry(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(1024) unsigned char pdl_memory[];
  cuda::ptx::griddepcontrol_wait();
  if constexpr (!requires { Kernel::no_early_trigger; }) cuda::ptx::griddepcontrol_launch_dependents();
  Kernel{}(Thread{}, *reinterpret_cast<typename Kernel::Shared*>(pdl_memory), problem);
}

}  // namespace detail

// As registers_of() tells of other launches.
template <class Kernel, class Problem>
std::optional<int> pdl_registers_of() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, detail::pdl_entry<Kernel, Problem>) == cudaSuccess)
    return attributes.numRegs;
  (void)cudaGetLastError();  // asked and answered: it must not reach the next check
  return std::nullopt;
}

// What a block asks for, so that no multiprocessor takes more blocks than it must. While the kernel before
// ends, free places are not spread evenly: at 1024³ of f64 three blocks here and one there took 58 µs, two
// everywhere take 41 (one NVIDIA H100). Of a block for each, other kernels' are no hindrance.
inline std::size_t even_shared_bytes(std::size_t bytes, std::int64_t blocks, const Device& device) {
  constexpr std::int64_t reserved = 1024, unit = 128;  // of each block; what shared memory is dealt out in
  const std::int64_t each = (blocks + device.processors - 1) / device.processors,
                     more = (device.max_shared_bytes + reserved) / (each + 1) / unit * unit + unit;
  return each <= 1 ? bytes
                   : std::max(bytes, static_cast<std::size_t>(std::max<std::int64_t>(more - reserved, 0)));
}

// evenly: as even_shared_bytes() says, for kernels that take so long that it counts.
template <class Kernel, class Problem>
void launch_with_pdl(const Launch& launch, const Problem& problem, Run& run, bool evenly = false) {
  static std::atomic<std::uint64_t> allowed{0};
  constexpr std::size_t least = detail::dynamic_bytes<Kernel>();
  const std::size_t bytes = evenly ? even_shared_bytes(least, launch.blocks(), *run.device) : least;
  const cuda::OnDevice on_device(run.device->index);
  const auto kernel = detail::pdl_entry<Kernel, Problem>;
  const std::uint64_t before = allowed.load();
  detail::allow_shared_bytes(kernel, evenly ? static_cast<std::size_t>(run.device->max_shared_bytes) : least,
                             run.device->index, allowed);
  // Once, too: room for all blocks that may be beside each other, evenly or not. Else a multiprocessor may
  // keep the division of its memory that the kernel before had, in which fewer fit.
  if (evenly && allowed.load() != before) {
    constexpr int blocks = detail::blocks_per_processor<Kernel>();
    const auto all = static_cast<int>(100 * blocks * (least + 1024) /
                                      static_cast<std::size_t>(run.device->max_shared_bytes + 1024));
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     std::min(std::max(100 * blocks / (blocks + 1), all) + 1, 100)));
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
