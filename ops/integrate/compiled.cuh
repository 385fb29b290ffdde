// SPDX-License-Identifier: Apache-2.0
// How the rungs that compile a formula launch it.
#pragma once
#include <cstring>
#include <optional>
#include "compiled_source.hpp"
#include "tessera/cuda/device.hpp"
#include "tessera/cuda/nvrtc.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/rung.hpp"
#include "warp_sums.hpp"

namespace tessera::integration {

// The kernel that this thread asked for last: asking again costs a comparison.
template <class T>
const cuda::RuntimeKernel& kernel_for(const formula::Program<T>& program, const Compiled& how,
                                      int capability) {
  struct Known {
    formula::Program<T> program;
    Compiled how;
    int capability = 0;
    std::optional<cuda::RuntimeKernel> kernel;
  };
  thread_local Known last;
  const bool same = last.kernel && last.capability == capability && last.how.sum == how.sum &&
                    last.how.scale_terms == how.scale_terms && last.how.threads == how.threads &&
                    last.how.leaves == how.leaves && last.how.root == how.root &&
                    std::memcmp(&last.program, &program, sizeof program) == 0;
  if (same) return *last.kernel;
  last.kernel.reset();
  std::memcpy(&last.program, &program, sizeof program);
  last.how = how;
  last.capability = capability;
  last.kernel.emplace(source_of(program, how), "add_strips", capability);
  return *last.kernel;
}

template <class T>
void add_compiled(const Problem<T>& p, const Tuning& tuning, Run& run, std::string_view root) {
  const cuda::OnDevice on_device(run.device->index);
  const Runs runs = p.runs(workers(tuning));
  const auto leaves = static_cast<int>(std::min<std::int64_t>(4, runs.strips / Problem<T>::leaf));
  const Compiled how{p.sum, p.scale_terms, tuning["thread"], p.sum == Sum::pairwise ? leaves : 1, root};
  char* const workspace = static_cast<char*>(run.workspace);
  const Work<T> work{p.a,
                     p.b,
                     p.step,
                     p.width,
                     p.scale,
                     p.strips,
                     runs.count,
                     runs.strips,
                     p.result,
                     reinterpret_cast<std::uint32_t*>(workspace),
                     workspace + counter_bytes};
  kernel_for(p.integrand, how, run.device->compute_capability).launch(launch_of(tuning), 0, run.stream, work);
}

// A rung's one choice; `allowed`: why these arguments are not for it, besides what holds for every such rung.
inline Choice compiled_choice(std::string_view root, Reason (*allowed)(const Arguments&)) {
  Choice out = choice_of<Problem>([root]<class T>(const Problem<T>& p, const Tuning& tuning,
                                                  Run& run) { add_compiled(p, tuning, run, root); },
                                  {}, launch_ranges(264, 256));
  out.workspace_bytes = [](const Arguments& arguments, const Tuning& tuning) {
    const Problem<double> p = Problem<double>::of(arguments);  // an f32's pairs are shorter
    return partial_bytes<double>(p.sum, joined_count(p, tuning["block"], workers(tuning)));
  };
  out.refuses = [allowed](const Arguments& arguments, const Tuning& tuning, const Device&) -> Reason {
    const Setting setting = setting_of(arguments);
    if (setting.sum == Sum::exact)
      return "whole numbers as wide as an exact sum's are left to the interpreting kernels";
    if (setting.accumulated) return "abscissae are taken from the index only";
    if (tuning["thread"] % 32 != 0) return "a block is of whole warps: thread a multiple of 32";
    if (arguments.element() == Element::f32 && setting.strips > (std::int64_t{1} << 24))
      return "an f32 counts 2^24 strips, no more";
    return allowed(arguments);
  };
  return out;
}

inline Variant compiled_variant(std::string idea, Choice choice) {
  Variant out;
  out.idea = std::move(idea);
  out.where = Where::cuda;
  out.needs = [](const Device&) -> Reason {
    if (Reason absent = cuda::no_nvrtc()) return absent;
    return cuda::no_driver();
  };
  out.choices.push_back(std::move(choice));
  return out;
}

}  // namespace tessera::integration
