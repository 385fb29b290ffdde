// SPDX-License-Identifier: Apache-2.0
// CPU rung 9: not one sum, but the rule that the integrand needs.
//
// The trapezoid sum of the circle falls by h^1.5 alone, because its slope is infinite at 1. A change of
// variable brings that end to infinity, and some seventy points give every digit that sixteen million
// strips do not. What limits it: one integral is too little work for more than one core. Of several variables
// it may be much more, which nobody knows before: beyond what a GPU's start costs, the GPU takes over.
#include <cmath>
#include <string>
#include "advice.hpp"
#include "asked.hpp"
#include "integrate.hpp"
#include "tessera/formula/program.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

// Why the processors, and no GPU. `waiting`: one waited for what is too long for them.
std::string of_device(const Asked& asked, const quadrature::Answer& answer, bool waiting) {
  if (asked.rule != "auto") return "";
  const bool one = asked.variables.size() == 1;
  const auto steps = formula::compile<double>(asked.formula, asked.variables).step_count;
  // A core computes some operators in a nanosecond; a GPU's launches and copies take tens of thousands.
  constexpr double core_per_second = 1e9, launches_seconds = 50e-6;
  const double seconds = static_cast<double>(answer.evaluations) * (1 + steps) / core_per_second;
  if (seconds < launches_seconds) return "a GPU would be slower: its launches alone take longer";
  if (one)
    return "what the points are depends on those before, which leaves a GPU idle: one integral is the "
           "processors'";
  return waiting ? "on the processors, which were done before a GPU would have started"
                 : "on the processors: a GPU (--device cuda) gains most with five variables and more at "
                   "tight tolerances";
}

template <class T>
void integrate_by_rule(const Arguments& arguments, const Tuning&, Run& run) {
  const double scale = arguments.real("scale");
  quadrature::Answer answer;
  if (has_samples(arguments)) {
    answer = answer_from_samples(arguments);
  } else {
    const Asked asked = asked_of(arguments);
    const std::optional<std::int64_t> patience = patience_of(asked, run);
    answer = answer_to(asked, run.device->threads, {}, {}, patience);
    const bool short_of_it = asked.variables.size() == 1 && asked.rule != "vegas" && !answer.converged();
    const std::string more =
        short_of_it ? advice(answer, scale) : of_device(asked, answer, patience.has_value());
    answer.why += (answer.why.empty() || more.empty() ? "" : "; ") + more;
  }
  *static_cast<T*>(arguments.array("integral").data) = rounded_value<T>(answer, scale);
  run.values = told_of(answer, scale);
}

Choice choice() {
  Choice out;
  out.run[Element::f64] = integrate_by_rule<double>;
  out.run[Element::f32] = integrate_by_rule<float>;
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (asks_for_rule(arguments)) return std::nullopt;
    return "the words ask for the trapezoid sum of strips";
  };
  return out;
}

const Rung rung{"the rule that the integrand needs, with its error and the reason why it stopped",
                Where::cpu,
                {choice()}};

}  // namespace
}  // namespace tessera::integration
