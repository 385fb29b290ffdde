// SPDX-License-Identifier: Apache-2.0
// Included by a .simt.cu rung. A kernel is a type, over an element T and a Config, with
//
//   struct Shared { … };                                      a block's shared memory
//   static Launch launch(const Problem<T>&, const Tuning&);   the grid
//   SIMT void operator()(Thread, Shared&, const Problem<T>&) const;
//
// and, optionally,
//
//   static std::vector<Range> ranges();                       parameters chosen at run time
//   static Reason refuses(const Problem<T>&, const Tuning&);  why it cannot compute a problem
//   static std::size_t workspace_bytes(const Problem<T>&, const Tuning&);   zero-initialized device memory;
//                                                             Problem has `void* workspace` for it
//   static void finish(const Problem<T>&, const Tuning&, Run&);  the host's work after the launch: further
//                                                             launches, or waiting for results
//   static Owner owner(const Tuning&, std::int64_t row, std::int64_t column);   the thread that writes
//                                                             C(row, column), for the tracer
//   static constexpr int threads;                             maximum number of threads in a block
//   static constexpr bool may_return_early = true;            threads may exit before a barrier that other
//                                                             threads still reach
//
// and Config has `Tuning tuning() const`. Declaring a KernelRung registers the kernel on the executor, which
// runs kernels on the CPU (g++'s build), or on CUDA (nvcc's).
#pragma once
#include <algorithm>
#include <type_traits>
#include <typeinfo>
#include "tessera/rung.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/launch.cuh"
#else
#include "tessera/simt/executor/launch.hpp"
#endif

namespace tessera {
inline namespace TESSERA_UNIT {

struct NoShared {};

#if defined(__CUDACC__)
inline constexpr Where kernels_run_on = Where::cuda;
#else
inline constexpr Where kernels_run_on = Where::simt;
#endif

// Registers the variant on the ladder; in a traced build, registers it as the instrumented version of the
// variant already there.
inline void register_kernels(Variant variant, SourceLocation location = SourceLocation::current()) {
#if defined(TESSERA_TRACED)
  register_traced(std::move(variant), location);
#else
  register_variant(std::move(variant), location);
#endif
}

namespace detail {

template <class Kernel>
constexpr std::int64_t shared_bytes() {
  return std::is_empty_v<typename Kernel::Shared> ? 0 : sizeof(typename Kernel::Shared);
}

// Checks the launch limits of a device that apply to every kernel.
inline Reason device_refuses(const Launch& launch, std::int64_t shared_bytes, const Device& device) {
  constexpr std::int64_t max_grid_x = 2147483647, max_grid_yz = 65535;
  const auto says = [](std::int64_t needed, const char* what, std::int64_t limit) {
    return "needs " + std::to_string(needed) + " " + what + ", the limit is " + std::to_string(limit);
  };
  if (launch.block.x < 1 || launch.block.y < 1 || launch.block.z < 1)
    return "a block needs at least one thread";
  if (launch.threads() > device.max_threads_per_block)
    return says(launch.threads(), "threads in a block", device.max_threads_per_block);
  if (launch.block.z > 64) return says(launch.block.z, "threads along z", 64);
  if (shared_bytes > device.max_shared_bytes)
    return says(shared_bytes, "bytes of shared memory in a block", device.max_shared_bytes);
  if (launch.grid.x > max_grid_x) return says(launch.grid.x, "blocks along x", max_grid_x);
  if (launch.grid.y > max_grid_yz) return says(launch.grid.y, "blocks along y", max_grid_yz);
  if (launch.grid.z > max_grid_yz) return says(launch.grid.z, "blocks along z", max_grid_yz);
  return std::nullopt;
}

template <template <class> class Problem, class Kernel, class T>
Reason kernel_refuses(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  const auto problem = Problem<T>::of(arguments);
  if constexpr (requires { Kernel::refuses(problem, tuning); })
    if (const Reason reason = Kernel::refuses(problem, tuning)) return reason;
  return device_refuses(Kernel::launch(problem, tuning), shared_bytes<Kernel>(), device);
}

// If false, no GPU can launch the block: the kernel is not compiled, but its configuration is still listed.
template <class Kernel>
constexpr bool fits_any_gpu() {
  if constexpr (requires { Kernel::threads; }) return Kernel::threads <= 1024;
  else return true;
}

template <class Kernel, class P>
Footprint footprint_of(const P& problem, const Tuning& tuning) {
  const Launch launch = Kernel::launch(problem, tuning);
  Footprint out{launch.blocks(), launch.threads(), shared_bytes<Kernel>()};
  if constexpr (fits_any_gpu<Kernel>()) out.registers = registers_of<Kernel, P>();
  return out;
}

template <template <class> class Problem, class Kernel, class T>
void run_kernel(const Arguments& arguments, const Tuning& tuning, Run& run) {
  auto problem = Problem<T>::of(arguments);
  if constexpr (requires { problem.workspace = run.workspace; }) problem.workspace = run.workspace;
  const Launch launch = Kernel::launch(problem, tuning);
  if (launch.blocks() == 0) return;
  if constexpr (fits_any_gpu<Kernel>()) launch_kernel<Kernel>(launch, problem, run);
  if constexpr (requires { Kernel::finish(problem, tuning, run); }) Kernel::finish(problem, tuning, run);
}

template <template <class> class Problem, class Kernel, class T>
WorkspaceBytes workspace_of() {
  if constexpr (requires(Problem<T> p, Tuning t) { Kernel::workspace_bytes(p, t); })
    return [](const Arguments& arguments, const Tuning& tuning) {
      return Kernel::workspace_bytes(Problem<T>::of(arguments), tuning);
    };
  else return {};
}

// Binds the kernel BoundKernel::Of<T> for each element type T.
template <template <class> class Problem, class BoundKernel, class... T>
void bind_kernel(Choice& choice, Types<T...>) {
  using FloatKernel = typename BoundKernel::template Of<float>;
  if constexpr (requires { FloatKernel::ranges(); }) choice.ranges = FloatKernel::ranges();
  ((choice.prepare[element_of<T>] =
        without_plan(run_kernel<Problem, typename BoundKernel::template Of<T>, T>,
                     workspace_of<Problem, typename BoundKernel::template Of<T>, T>())),
   ...);
#if !defined(__CUDACC__)
  ((choice.kernels[element_of<T>] = typeid(typename BoundKernel::template Of<T>).name()), ...);
#endif
  bind_limits<Problem>(choice, Types<T...>{});
  choice.refuses = [](const Arguments& arguments, const Tuning& tuning, const Device& device) -> Reason {
    Reason reason = "has no kernel for this element type";
    ((arguments.element() == element_of<T>
          ? void(reason = kernel_refuses<Problem, typename BoundKernel::template Of<T>, T>(arguments, tuning,
                                                                                           device))
          : void()),
     ...);
    return reason;
  };
  choice.footprint = [](const Arguments& arguments, const Tuning& tuning) {
    std::optional<Footprint> footprint;
    ((arguments.element() == element_of<T>
          ? void(footprint =
                     footprint_of<typename BoundKernel::template Of<T>>(Problem<T>::of(arguments), tuning))
          : void()),
     ...);
    return footprint;
  };
  if constexpr (requires(Tuning t) { FloatKernel::owner(t, 0, 0); })
    choice.owner = [](const Arguments& arguments, const Tuning& tuning, const Extents& index) {
      std::optional<Owner> owner;  // depends on the element type: 16 bytes hold four floats but two doubles
      ((arguments.element() == element_of<T>
            ? void(owner = BoundKernel::template Of<T>::owner(tuning, index[0], index[1]))
            : void()),
       ...);
      return owner;
    };
}

// A kernel template with its Config bound. It is not a member of the rung, because nvcc's host code names the
// kernel through it, and the name of a member would spell out every other Config as well.
//
// Local, one of the kernel's types, forces internal linkage (here and in KernelRung): without a type from the
// file's anonymous namespace among the template arguments, same-named kernels of two files would be merged by
// the linker.
template <class Local, class Config, template <class, Config> class Kernel, Config config>
struct BoundConfig {
  template <class T>
  using Of = Kernel<T, config>;
};

template <class Local, template <class> class Problem, class Config, template <class, Config> class Kernel,
          Config... configs>
struct KernelRung {
  explicit KernelRung(std::string idea, std::optional<std::string> parent = {},
                      SourceLocation location = SourceLocation::current()) {
    Variant variant;
    variant.idea = std::move(idea);
    variant.where = kernels_run_on;
    (variant.choices.push_back(choice<configs>()), ...);
    variant.parent = std::move(parent);
    register_kernels(std::move(variant), location);
  }

 private:
  template <Config config>
  static Choice choice() {
    Choice out;
    out.tuning = config.tuning();
    bind_kernel<Problem, BoundConfig<Local, Config, Kernel, config>>(out,
                                                                     typename Problem<float>::Elements{});
    return out;
  }
};

template <auto first, auto...>
inline constexpr auto first_of = first;

}  // namespace detail

// Registers a rung with one Choice for each Config. The first is the default; the list is the search space.
template <template <class> class Problem, class Config, template <class, Config> class Kernel,
          Config... configs>
using KernelRung =
    detail::KernelRung<Kernel<float, detail::first_of<configs...>>, Problem, Config, Kernel, configs...>;

}  // namespace TESSERA_UNIT
}  // namespace tessera
