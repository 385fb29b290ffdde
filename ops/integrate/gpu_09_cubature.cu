// SPDX-License-Identifier: Apache-2.0
// GPU rung 9: the regions' estimates with the formula compiled into them.
//
// The compiler sees the loops over a rule's points around the formula: what depends on outer axes alone
// leaves the inner loops, the rest stays in registers, and no point is ever written down. Elementary
// functions are CUDA's own, within 2 units of the last place and half the work; with native=0 they are those
// of the rung that interprets, and so are all regions and all bits. What limits it now is double arithmetic,
// and at first, while there are few regions, the waiting of threads that have no neighbours.
#include <memory>
#include <optional>
#include "ops/integrate/kernels/region_run.hpp"
#include "ops/integrate/kernels/compiled_source.hpp"
#include "tessera/cuda/runtime_kernel.hpp"

namespace tessera::integration {
namespace {

// Whether axes have maps is known only once the integrand has been looked at: there are two kernels.
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
      constexpr int threads = compiled_region_threads;
      const std::int64_t most = 16 * std::int64_t{run.device->processors};
      const Launch launch{.grid = {std::clamp<std::int64_t>((tasks + threads - 1) / threads, 1, most)},
                          .block = {threads}};
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
