// SPDX-License-Identifier: Apache-2.0
// GPU rung 10: random points, concentrated where the integrand varies most (Lepage's VEGAS+).
//
// Regions cost too many points in many dimensions; the convergence of Monte Carlo does not depend on the
// dimension. A thread has up to sixteen points of one cube. Random numbers come from a counter, not from a
// state, and every sum has a fixed place, so results are bitwise identical to the CPU's. It is limited by the
// interpreter's work per point.
#include "ops/integrate/kernels/vegas_run.hpp"

namespace tessera::integration {
namespace {

struct Make {
  auto operator()(const RuleOptions& options, Run&) const {
    return [program = formula::compile<double>(options.formula, options.variables)](
               const VegasFrame& frame, std::int64_t tasks, Run& run) {
      constexpr int threads = SampleTasks<double>::threads;
      launch_kernel<SampleTasks<double>>({.grid = {(tasks + threads - 1) / threads}, .block = {threads}},
                                         Interpreted{frame, program}, run);
    };
  }
};

Variant variant() {
  Variant out;
  out.idea =
      "many variables: random points where the integrand scatters (VEGAS+), the bits of the processors";
  out.where = kernels_run_on;
  out.choices.push_back(choice_by_vegas(Make{}));
  out.parent = "";
  return out;
}

[[maybe_unused]] const bool registered = (register_kernels(variant()), true);

}  // namespace
}  // namespace tessera::integration
