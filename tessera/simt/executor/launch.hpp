// SPDX-License-Identifier: Apache-2.0
// Launches a kernel of kernel.hpp on the executor; the counterpart of tessera/cuda/launch.cuh.
#pragma once
#include <optional>
#include <type_traits>
#include <typeinfo>
#include "tessera/core/device/device.hpp"
#include "tessera/simt/executor/executor.hpp"

namespace tessera {
inline namespace TESSERA_UNIT {

// Returns nothing, because the host compiler's register count does not predict a GPU's.
template <class Kernel, class Problem>
std::optional<int> registers_of() {
  return std::nullopt;
}

template <class Kernel, class Problem>
void launch_kernel(const Launch& launch, const Problem& problem, Run& run) {
  using Shared = typename Kernel::Shared;
  static_assert(std::is_trivially_default_constructible_v<Shared> && std::is_trivially_destructible_v<Shared>,
                "a block's shared memory is raw, as on the GPU");
  static_assert(alignof(Shared) <= 256);
  simt::Task task;
  task.type = typeid(Kernel).name();
  task.body = [](const void* context, void* shared) {
#if defined(TESSERA_TRACED)
    // A copy on the thread's own stack is not traced, because parameters cause no memory traffic on a GPU.
    const Problem own = *static_cast<const Problem*>(context);
    context = &own;
#endif
    Kernel{}(Thread{}, *static_cast<Shared*>(shared), *static_cast<const Problem*>(context));
  };
  task.context = &problem;
  task.shared_bytes = std::is_empty_v<Shared> ? 0 : sizeof(Shared);
  task.launch = launch;
  if constexpr (requires { Kernel::may_return_early; }) task.may_return_early = Kernel::may_return_early;
  task.tracer = run.tracer;
  simt::execute(task, run.device->threads);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
