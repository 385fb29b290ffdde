// SPDX-License-Identifier: Apache-2.0
// GPU rung 10: points drawn at random, where the integrand was seen to scatter (Lepage's VEGAS+).
//
// Regions cost too many points in many dimensions; chance does not ask how many there are. A thread has up to
// sixteen points of one cube. What is random is counted, not drawn from a state, and every sum has its place:
// the bits are those of the processors. What limits it is the interpreter's work for each point.
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
