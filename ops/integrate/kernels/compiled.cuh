// SPDX-License-Identifier: Apache-2.0
// Launch code of the rungs that compile a formula.
#pragma once
#include <bit>
#include <cstring>
#include <optional>
#include "ops/integrate/kernels/compiled_source.hpp"
#include "ops/integrate/integrate.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/rung.hpp"
#include "ops/integrate/sum/partials.hpp"

namespace tessera::integration {

// Keeps the kernel that this thread requested last, so that a repeated request costs a comparison.
template <class T>
const cuda::RuntimeKernel& kernel_for(const formula::Program<T>& program, const Compiled& how,
                                      int capability) {
  struct Cached {
    formula::Program<T> program;
    Compiled how;
    int capability = 0;
    std::optional<cuda::RuntimeKernel> kernel;
  };
  thread_local Cached last;
  const bool same = last.kernel && last.capability == capability && last.how == how &&
                    std::memcmp(&last.program, &program, sizeof program) == 0;
  if (same) return *last.kernel;
  last.kernel.reset();
  std::memcpy(&last.program, &program, sizeof program);
  last.how = how;
  last.capability = capability;
  last.kernel.emplace(source_of(program, how), "add_strips", capability);
  return *last.kernel;
}

// Returns the number of pieces per thread: an entire subtree, and few enough that every thread has some.
template <class T>
std::int64_t pieces_of_a_thread(const Problem<T>& p, std::int64_t piece, std::int64_t threads) {
  const std::int64_t pieces = (p.strips + piece - 1) / piece;
  std::int64_t each = 1;
  while (each * threads < pieces) each *= 2;
  return each;
}

template <class T>
void add_compiled(const Problem<T>& p, const Tuning& tuning, Run& run, bool fast_roots) {
  const cuda::OnDevice on_device(run.device->index);
  const std::int64_t piece = p.sum == Sum::double_float ? p.runs(1).strips : Problem<T>::leaf;
  const std::int64_t each = pieces_of_a_thread(p, piece, workers(tuning));
  const Compiled how{
      .sum = p.sum,
      .scale_terms = p.scale_terms,
      .counted = steps_are_exact(p.a, p.step, p.strips),
      .fast_roots = fast_roots,
      .threads = tuning["thread"],
      .together = has_fixed_order(p.sum) ? static_cast<int>(std::min<std::int64_t>(4, each)) : 1};
  char* const workspace = static_cast<char*>(run.workspace);
  const Work<T> work{p.a,
                     p.b,
                     p.step,
                     p.width,
                     p.scale,
                     p.strips,
                     piece,
                     each,
                     p.result,
                     reinterpret_cast<std::uint32_t*>(workspace),
                     workspace + counter_bytes};
  kernel_for(p.integrand, how, run.device->compute_capability).launch(launch_of(tuning), 0, run.stream, work);
}

// Returns the single configuration of a compiled rung. `why_refused`: the rung's own check, in addition to
// those common to all such rungs.
inline Choice compiled_choice(bool fast_roots, Reason (*why_refused)(const Arguments&)) {
  Choice out =
      choice_of<Problem>([fast_roots]<class T>(const Problem<T>& p, const Tuning& tuning,
                                               Run& run) { add_compiled(p, tuning, run, fast_roots); },
                         {}, launch_ranges(264, 512),
                         [](const Arguments&, const Tuning& tuning) {
                           // f32 pairs are smaller. With a fixed order there is one pair for each subtree of
                           // a block's threads.
                           return partial_bytes<double>(Sum::plain, 2 * std::int64_t{tuning["block"]} + 1);
                         });
  out.refuses = [why_refused](const Arguments& arguments, const Tuning& tuning, const Device&) -> Reason {
    const TrapezoidOptions options = trapezoid_options_of(arguments);
    if (options.sum == Sum::exact)
      return "whole numbers as wide as an exact sum's are left to the interpreting kernels";
    if (options.accumulated) return "abscissae are taken from the index only";
    if (!std::has_single_bit(static_cast<unsigned>(tuning["thread"])) || tuning["thread"] < 32)
      return "a block is a subtree of whole warps: thread a power of two from 32 on";
    if (arguments.element() == Element::f32 && options.strips > (std::int64_t{1} << 24))
      return "an f32 counts 2^24 strips, no more";
    return why_refused(arguments);
  };
  return out;
}

}  // namespace tessera::integration
