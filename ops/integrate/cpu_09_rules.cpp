// SPDX-License-Identifier: Apache-2.0
// CPU rung 9: a quadrature rule that suits the integrand, instead of one sum.
//
// The trapezoid error of the circle falls only as h^1.5, because the slope is infinite at 1. A change of
// variable moves that end to infinity, and some seventy points give every digit that sixteen million strips
// do not. One integral of one variable is too little work for more than one core. Integrals of several
// variables may take far more, which is not known in advance: once the work exceeds the cost of starting a
// GPU, the GPU takes over.
#include "integrate_rules.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

template <class T>
void integrate_by_rule(const Arguments& arguments, const Tuning&, Run& run) {
  const double scale = arguments.real("scale");
  quadrature::Answer answer;
  if (has_samples(arguments)) {
    answer = answer_from_samples(arguments);
  } else {
    const RuleOptions options = rule_options_of(arguments);
    answer = answer_to(options, run.device->threads, {}, {}, work_budget_of(options, run));
  }
  *static_cast<T*>(arguments.array("integral").data) = rounded_value<T>(answer, scale);
  run.values = values_of(answer, scale);
}

Choice choice() {
  Choice out;
  out.prepare[Element::f64] = without_plan(integrate_by_rule<double>);
  out.prepare[Element::f32] = without_plan(integrate_by_rule<float>);
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (asks_for_rule(arguments)) return std::nullopt;
    return "a trapezoid sum is asked for";
  };
  return out;
}

const Rung rung{"the rule that the integrand needs, with its error and the reason why it stopped",
                Where::cpu,
                {choice()},
                ""};

}  // namespace
}  // namespace tessera::integration
