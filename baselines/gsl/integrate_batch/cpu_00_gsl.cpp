// SPDX-License-Identifier: Apache-2.0
// GSL's qags and qagi on every core, the integrand typed as text: one point at a time, as these rules ask.
#include "qags.hpp"

namespace tessera::integrate_batch {
namespace {

void integrate_text(const Problem<double>& p, const Tuning&, Run& run) {
  all_by_gsl(p, run, [&p](std::int64_t i) { return p.formula_of(p.integrand, i); });
}

const Rung rung(baseline("GSL's qags and qagi on every core, the formula interpreted", Where::cpu,
                         {choice_of<Problem>(integrate_text)}));

}  // namespace
}  // namespace tessera::integrate_batch
