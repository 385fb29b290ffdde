// SPDX-License-Identifier: Apache-2.0
// CPU baseline: the loop over the strips of the circle, compiled ahead with all that a compiler may do.
//
// It knows one formula and adds in whatever order the compiler likes; its sums have no promise of bits.
#include "ops/integrate/integrate.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/baseline.hpp"

double circle_strips(double a, double step, std::int64_t first, std::int64_t last);

namespace tessera::integration {
namespace {

void run_circle(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<double>::of(arguments);
  const int threads = run.device->threads;
  std::vector<double> sums(static_cast<std::size_t>(threads));
  parallel(threads, [&](int part) {
    sums[static_cast<std::size_t>(part)] =
        circle_strips(p.a, p.width, p.strips * part / threads, p.strips * (part + 1) / threads);
  });
  Pair<double> total{};
  for (const double sum : sums) total.high += sum;
  Problem<double> ends = p;
  ends.sum = Sum::plain;
  *p.result = ends.finished(total);
}

Choice circle() {
  Choice choice;
  choice.prepare[Element::f64] = without_plan(run_circle);
  choice.refuses = [](const Arguments& a, const Tuning&, const Device&) -> Reason {
    if (const Reason other = not_trapezoid(a)) return other;
    const std::string& formula = a.text("FORMULA");
    if (formula == "sqrt(1-x^2)" || formula == "sqrt(1-x*x)") return std::nullopt;
    return "it was compiled for sqrt(1-x^2) alone";
  };
  return choice;
}

const Rung rung(timed_baseline("the circle's strips by g++ -O3 -march=native -ffast-math", Where::cpu,
                               {circle()}));

}  // namespace
}  // namespace tessera::integration
