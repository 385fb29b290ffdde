// SPDX-License-Identifier: Apache-2.0
// GPU rung 9: region estimates with the formula compiled in.
//
// The compiler sees the loops over the rule's points around the formula: it hoists terms that depend on outer
// axes alone, keeps the rest in registers, and stores no point. Elementary functions are CUDA's, within 2 ulp
// and half the work; with native=0 they are those of the interpreting rung, and all regions and results are
// bitwise identical to its own. It is now limited by double arithmetic, and in the first rounds, with few
// regions, by latency that too few threads can hide.
#include <memory>
#include <optional>
#include "ops/integrate/kernels/region_run.hpp"
#include "ops/integrate/kernels/compiled_source.hpp"
#include "tessera/cuda/runtime_kernel.hpp"

namespace tessera::integration {
namespace {

// There are two kernels, because only the frame of an integrand tells whether axes have maps.
class Compiled {
 public:
  Compiled(const RuleOptions& options, const Tuning& tuning, const Device& device)
      : program_(formula::compile<double>(options.formula, options.variables)),
        tuning_(tuning),
        device_(device) {}

  const cuda::RuntimeKernel& kernel_for(const RegionFrame& frame) {
    bool plain = true;
    for (int k = 0; k < frame.d; ++k) plain = plain && frame.map[k].kind == region_as_it_is;
    std::optional<cuda::RuntimeKernel>& kernel = plain ? plain_ : mapped_;
    if (!kernel)
      kernel.emplace(region_source_of(
                         program_, {plain, tuning_["residents"], tuning_["unroll"], tuning_["native"] != 0}),
                     "estimate_regions", device_.compute_capability);
    return *kernel;
  }

 private:
  formula::Program<double> program_;
  Tuning tuning_;
  const Device& device_;
  std::optional<cuda::RuntimeKernel> plain_, mapped_;
};

struct Make {
  auto operator()(const RuleOptions& options, const Tuning& tuning, Run& run) const {
    return [&run, compiled = std::make_shared<Compiled>(options, tuning, *run.device)](
               const RegionFrame& frame, long long tasks) {
      const cuda::OnDevice on_device(run.device->index);
      const Launch launch = launch_for(tasks, compiled_region_threads, *run.device);
      compiled->kernel_for(frame).launch(launch, 0, run.stream, frame);
    };
  }
};

const Rung rung(
    cuda::compiled_variant("regions of several variables, the formula compiled into their estimates",
                           choice_by_regions(Make{}, 1 << 20,
                                             {{.name = "residents", .first = 1, .last = 8, .value = 4},
                                              {.name = "unroll", .first = 0, .last = 4, .value = 1},
                                              {.name = "native", .first = 0, .last = 1, .value = 1}})));

}  // namespace
}  // namespace tessera::integration
