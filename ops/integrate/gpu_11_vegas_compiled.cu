// SPDX-License-Identifier: Apache-2.0
// GPU rung 11: VEGAS with the formula compiled into the sampling kernel.
//
// The compiler knows the number of axes, so a point's coordinates stay in registers and no operator is looked
// up. Points and results are bitwise identical to those of the interpreting rung. It is now limited by random
// numbers and the grid's double arithmetic, and for small tasks by the launches of an iteration.
#include <memory>
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "ops/integrate/kernels/vegas_run.hpp"
#include "ops/integrate/kernels/compiled_source.hpp"

namespace tessera::integration {
namespace {

using Kernel = std::shared_ptr<const cuda::RuntimeKernel>;

// Keeps the kernel that this thread requested last, so that a repeated request costs a comparison.
Kernel kernel_for(const formula::Program<double>& program, int capability) {
  struct Cached {
    formula::Program<double> program;
    int capability = 0;
    Kernel kernel;
  };
  thread_local Cached last;
  if (last.kernel && last.capability == capability &&
      std::memcmp(&last.program, &program, sizeof program) == 0)
    return last.kernel;
  last.kernel = std::make_shared<cuda::RuntimeKernel>(vegas_source_of(program), "vegas_sample", capability);
  std::memcpy(&last.program, &program, sizeof program);
  last.capability = capability;
  return last.kernel;
}

struct Make {
  auto operator()(const RuleOptions& options, Run& run) const {
    const cuda::OnDevice here(run.device->index);
    const Kernel kernel = kernel_for(formula::compile<double>(options.formula, options.variables),
                                     run.device->compute_capability);
    return [kernel](const VegasFrame& f, std::int64_t tasks, Run& on) {
      const cuda::OnDevice on_device(on.device->index);
      const Launch launch = launch_for(tasks, compiled_vegas_threads, *on.device);
      kernel->launch(launch, 0, on.stream, f.plan, f.tasks, f.edges, f.axes, f.sums, f.cube_of_task,
                     f.weights, &f.left->holes);
    };
  }
};

const Rung rung(cuda::compiled_variant("VEGAS+, the formula compiled into the kernel that samples",
                                       choice_by_vegas(Make{})));

}  // namespace
}  // namespace tessera::integration
