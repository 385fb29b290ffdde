// SPDX-License-Identifier: Apache-2.0
// Runs the grid of a kernel, as tessera/kernel.hpp describes one, on a CUDA device.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>
#include "tessera/core/device.hpp"
#include "tessera/core/thread.hpp"
#include "tessera/cuda/gpus.hpp"

namespace tessera {
inline namespace TESSERA_UNIT {

namespace detail {

template <class Kernel>
constexpr int max_threads_per_block() {
  if constexpr (requires { Kernel::threads; }) return Kernel::threads;
  else return 1024;
}

// minBlocksPerMultiprocessor of __launch_bounds__.
template <class Kernel>
constexpr int blocks_per_processor() {
  if constexpr (requires { Kernel::blocks_per_processor; }) return Kernel::blocks_per_processor;
  else return 1;
}

template <class Kernel>
constexpr std::size_t dynamic_bytes() {
  return std::is_empty_v<typename Kernel::Shared> ? 0 : sizeof(typename Kernel::Shared);
}

// The problem comes by value: it lies in constant memory and no thread copies it.
template <class Kernel, class Problem>
__global__ void __launch_bounds__(max_threads_per_block<Kernel>(), blocks_per_processor<Kernel>())
    entry(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Kernel{}(Thread{}, *reinterpret_cast<typename Kernel::Shared*>(memory), problem);
}

// More than 48 KB of dynamic shared memory needs the function attribute, once per device.
template <class F>
void allow_shared_bytes(F* kernel, std::size_t bytes, int device, std::atomic<std::uint64_t>& allowed) {
  if (bytes <= 48 * 1024) return;
  const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
  if ((allowed.load() & bit) != 0) return;
  cuda::check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  allowed |= bit;
}

}  // namespace detail

// Registers per thread; nullopt without a device.
template <class Kernel, class Problem>
std::optional<int> registers_of() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, detail::entry<Kernel, Problem>) == cudaSuccess)
    return attributes.numRegs;
  (void)cudaGetLastError();  // clears the last error
  return std::nullopt;
}

template <class Kernel, class Problem>
void launch_kernel(const Launch& launch, const Problem& problem, Run& run) {
  static std::atomic<std::uint64_t> allowed{0};
  constexpr std::size_t bytes = detail::dynamic_bytes<Kernel>();
  const cuda::OnDevice on_device(run.device->index);
  detail::allow_shared_bytes(detail::entry<Kernel, Problem>, bytes, run.device->index, allowed);
  const dim3 grid(static_cast<unsigned>(launch.grid.x), static_cast<unsigned>(launch.grid.y),
                  static_cast<unsigned>(launch.grid.z));
  const dim3 block(static_cast<unsigned>(launch.block.x), static_cast<unsigned>(launch.block.y),
                   static_cast<unsigned>(launch.block.z));
  detail::entry<Kernel, Problem><<<grid, block, bytes, static_cast<cudaStream_t>(run.stream)>>>(problem);
  cuda::check(cudaGetLastError());
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
