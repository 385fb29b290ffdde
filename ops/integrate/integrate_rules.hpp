// SPDX-License-Identifier: Apache-2.0
// Runs the rule that the options name, and reports its answer.
#pragma once
#include <cmath>
#include <utility>
#include "integrate_options.hpp"
#include "ops/integrate/quadrature/scattered/box.hpp"
#include "ops/integrate/quadrature/scattered/vegas.hpp"

namespace tessera::integration {

// Returns the number of evaluations that the CPU may spend before a GPU takes over; nothing: no limit.
std::optional<std::int64_t> work_budget_of(const RuleOptions& options, const Run& run);
// Subtracts the time that the previous device has spent from the time limit.
void take_over(RuleOptions& options, const Run& run);
// Notes in the answer that this device took over.
void add_fallback_note(quadrature::Answer& answer, const Run& run);

// `by_regions` integrates over regions on a device other than the CPU, `engine` by VEGAS. Throws OutOfBudget
// if an integral of several variables takes more than `budget` evaluations.
quadrature::Answer answer_to(const RuleOptions& options, int threads,
                             const quadrature::ByRegions& by_regions = {},
                             const quadrature::VegasEngineFor& engine = {},
                             std::optional<std::int64_t> budget = {});

// Returns the integral over x of a formula of the samples x and y, by the trapezoid or Simpson's rule.
quadrature::Answer answer_from_samples(const Arguments& arguments);

// Scales the answer and rounds it to T, which adds a rounding error to the answer: rules add in f64.
template <class T>
T rounded_value(quadrature::Answer& answer, double scale) {
  const T given = static_cast<T>(answer.value * scale);
  if (std::isinf(given)) {
    const double value = std::exchange(answer.value, quadrature::infinity);
    quadrature::judge_size(answer);
    answer.value = value;
    return given;
  }
  const double lost = std::fabs(static_cast<double>(given) - answer.value * scale);
  if (scale != 0 && lost > 0) answer.rounding += lost / std::fabs(scale);
  return given;
}

// Returns the values of the scaled answer, by their names in the signature.
Values values_of(const quadrature::Answer& answer, double scale);

}  // namespace tessera::integration
