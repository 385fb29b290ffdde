// SPDX-License-Identifier: Apache-2.0
// Runs the grid of a kernel, as tessera/kernel.hpp describes one, on a CUDA device.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>
#include "tessera/core/device/device.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/ptx/control.cuh"

namespace tessera {
inline namespace TESSERA_UNIT {

namespace detail {

template <class Kernel>
constexpr int max_threads_per_block() {
  if constexpr (requires { Kernel::threads; }) return Kernel::threads;
  else return 1024;
}

// Returns minBlocksPerMultiprocessor of __launch_bounds__.
template <class Kernel>
constexpr int min_blocks_per_sm() {
  if constexpr (requires { Kernel::min_blocks_per_sm; }) return Kernel::min_blocks_per_sm;
  else return 1;
}

template <class Kernel>
constexpr std::size_t dynamic_bytes() {
  return std::is_empty_v<typename Kernel::Shared> ? 0 : sizeof(typename Kernel::Shared);
}

// The problem is a kernel parameter in constant memory; __grid_constant__ spares each thread a local copy.
template <class Kernel, class Problem>
__global__ void __launch_bounds__(max_threads_per_block<Kernel>(), min_blocks_per_sm<Kernel>())
    entry(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Kernel{}(Thread{}, *reinterpret_cast<typename Kernel::Shared*>(memory), problem);
}

template <class Kernel, class Problem>
__global__ void __launch_bounds__(max_threads_per_block<Kernel>(), min_blocks_per_sm<Kernel>())
    pdl_entry(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(1024) unsigned char pdl_memory[];
  cuda::ptx::griddepcontrol_wait();
  if constexpr (!requires { Kernel::no_early_trigger; }) cuda::ptx::griddepcontrol_launch_dependents();
  Kernel{}(Thread{}, *reinterpret_cast<typename Kernel::Shared*>(pdl_memory), problem);
}

// Sets the function attribute that more than 48 KB of dynamic shared memory require, once per device. Returns
// true if this call set it (the first on this device).
template <class F>
bool allow_shared_bytes(F* kernel, std::size_t bytes, int device, std::atomic<std::uint64_t>& allowed) {
  if (bytes <= 48 * 1024) return false;
  const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
  if ((allowed.load() & bit) != 0) return false;
  cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  allowed |= bit;
  return true;
}

}  // namespace detail

// Programmatic dependent launch (PDL): the kernel's blocks may be scheduled before the previous kernel
// completes, and first execute griddepcontrol.wait, which waits for its completion. Then they execute
// griddepcontrol.launch_dependents, unless the kernel has a member `no_early_trigger`: then the trigger is
// implicit, at the exit of each block. `evenly` also pads dynamic shared memory and sets the preferred shared
// memory carveout, for kernels long enough to gain from it.
enum class Pdl { off, on, evenly };

namespace detail {
template <class Kernel, class Problem, Pdl pdl>
constexpr auto entry_of() {
  if constexpr (pdl == Pdl::off) return entry<Kernel, Problem>;
  else return pdl_entry<Kernel, Problem>;
}
}  // namespace detail

// Registers per thread; nullopt without a device.
template <class Kernel, class Problem, Pdl pdl = Pdl::off>
std::optional<int> registers_of() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, detail::entry_of<Kernel, Problem, pdl>()) == cudaSuccess)
    return attributes.numRegs;
  (void)cudaGetLastError();  // clears the last error
  return std::nullopt;
}

// Returns the dynamic shared memory per block, padded so that at most ceil(blocks / SMs) blocks fit on one
// SM. Otherwise, while the previous kernel drains, the scheduler fills some SMs unevenly: at 1024³ of f64
// three blocks on some SMs and one on others took 58 µs, two on each take 41 (one NVIDIA H100). With at most
// one block per SM no padding is needed.
inline std::size_t smem_bytes_limiting_occupancy(std::size_t bytes, std::int64_t blocks,
                                                 const Device& device) {
  constexpr std::int64_t reserved_per_block = 1024, granularity = 128;  // bytes, by the driver
  const std::int64_t blocks_per_sm = (blocks + device.multiprocessors - 1) / device.multiprocessors,
                     bytes_that_exclude_one_more = (device.max_shared_bytes + reserved_per_block) /
                                                       (blocks_per_sm + 1) / granularity * granularity +
                                                   granularity;
  return blocks_per_sm <= 1 ? bytes
                            : std::max(bytes, static_cast<std::size_t>(std::max<std::int64_t>(
                                                  bytes_that_exclude_one_more - reserved_per_block, 0)));
}

// `pdl`: with programmatic dependent launch, which devices have from compute capability 9.0 on.
template <class Problem>
void launch_grid(void (*kernel)(Problem), const Launch& launch, std::size_t shared_bytes, cudaStream_t stream,
                 bool pdl, const Problem& problem) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.grid.x), static_cast<unsigned>(launch.grid.y),
                        static_cast<unsigned>(launch.grid.z));
  config.blockDim = dim3(static_cast<unsigned>(launch.block.x), static_cast<unsigned>(launch.block.y),
                         static_cast<unsigned>(launch.block.z));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = pdl ? 1 : 0;
  cuda::check(cudaLaunchKernelEx(&config, kernel, problem));
}

// A kernel must be launched with one value of `pdl` only: Pdl::on and Pdl::evenly share one entry function
// and set its attributes to different values, each once per device.
template <class Kernel, Pdl pdl = Pdl::off, class Problem>
void launch_kernel(const Launch& launch, const Problem& problem, Run& run) {
  static std::atomic<std::uint64_t> allowed{0};
  constexpr std::size_t required_bytes = detail::dynamic_bytes<Kernel>();
  constexpr bool evenly = pdl == Pdl::evenly;
  const auto max_bytes = static_cast<std::size_t>(run.device->max_shared_bytes);
  const cuda::OnDevice on_device(run.device->index);
  const auto kernel = detail::entry_of<Kernel, Problem, pdl>();
  // With Pdl::evenly, also sets the preferred shared memory carveout, once per device, so that all
  // co-resident blocks fit; otherwise the SM may keep the previous kernel's split of L1 and shared memory.
  if (detail::allow_shared_bytes(kernel, evenly ? max_bytes : required_bytes, run.device->index, allowed) &&
      evenly) {
    constexpr int blocks = detail::min_blocks_per_sm<Kernel>();
    const auto carveout_percent =
        static_cast<int>(100 * blocks * (required_bytes + 1024) / (max_bytes + 1024));
    cuda::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             std::min(std::max(100 * blocks / (blocks + 1), carveout_percent) + 1, 100)));
  }
  launch_grid(
      kernel, launch,
      evenly ? smem_bytes_limiting_occupancy(required_bytes, launch.blocks(), *run.device) : required_bytes,
      static_cast<cudaStream_t>(run.stream), pdl != Pdl::off && run.device->compute_capability >= 90,
      problem);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
