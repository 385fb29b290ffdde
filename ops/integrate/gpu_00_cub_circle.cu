// SPDX-License-Identifier: Apache-2.0
// GPU baseline: CUB's reduction of one integrand, the quarter circle, compiled ahead of time as its users
// would.
//
// A template library cannot take a formula at run time. This is its best case: a functor of few instructions
// with fused multiply-adds, and 32-bit indices where they suffice. It always adds plainly, whatever --sum
// says, so only its time is compared.
#include <cstring>
#include "sum/cub_sum.cuh"
#include "tessera/formula/tree.hpp"

namespace tessera::integration {
namespace {

constexpr const char* circle = "sqrt(1-x^2)";

template <class T, class Index>
struct CircleSample {
  T a, step;
  __device__ T operator()(Index strip) const {
    const T x = ::fma(T(strip), step, a);
    return ::sqrt(::fma(-x, x, T(1)));
  }
};

template <class T>
void add_circle(const Problem<T>& p, Run& run) {
  if (p.strips < (std::int64_t{1} << 31))
    add_with_cub<std::int32_t>(p, CircleSample<T, std::int32_t>{p.a, p.step}, run);
  else add_with_cub<std::int64_t>(p, CircleSample<T, std::int64_t>{p.a, p.step}, run);
}

bool is_circle(const Arguments& arguments) {
  const formula::Program<double> known = formula::compile<double>(formula::parse(circle), {"x"}),
                                 requested = program_of<double>(arguments);
  return std::memcmp(&known, &requested, sizeof known) == 0;
}

Choice cub_of_circle() {
  Choice choice =
      choice_of<Problem>([]<class T>(const Problem<T>& p, const Tuning&, Run& run) { add_circle(p, run); },
                         {}, {}, [](const Arguments&, const Tuning&) { return cub_spare_bytes; });
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    const TrapezoidOptions options = trapezoid_options_of(arguments);
    if (!is_circle(arguments)) return std::string("it was compiled for ") + circle;
    if (options.scale_terms) return "it multiplies the sum by the width, not each sample";
    if (options.accumulated) return "CUB distributes the strips itself: abscissae cannot be accumulated";
    return std::nullopt;
  };
  return choice;
}

const Rung rung(
    timed_baseline("CUB's reduction of the quarter circle, the one integrand that it was compiled for",
                   Where::cuda, {cub_of_circle()}));

}  // namespace
}  // namespace tessera::integration
