// SPDX-License-Identifier: Apache-2.0
// What is asked of a rule, as the words of a command say it; and the rule's answer in words.
#pragma once
#include "ops/integrate/rules/domain.hpp"
#include "ops/integrate/rules/vegas.hpp"
#include "bounded.hpp"
#include "setting.hpp"
#include "tessera/core/device.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integration {

// Whether the words ask for a rule that knows its error; else for the trapezoid sum of so many strips, which
// is also meant where strips are given and no rule is named.
bool asks_for_rule(const Arguments& arguments);

struct Asked {
  std::string rule;
  Element element = Element::f64;  // in which the formula is computed
  formula::Tree formula;           // parameters have become numbers
  std::vector<std::string> variables;
  quadrature::Box box;
  double scale = 1;
  quadrature::Tolerance tolerance;
  quadrature::Limits limits;
  std::vector<double> points;  // known breaks
  std::uint64_t seed = 1;      // of random points
};

quadrature::Tolerance tolerance_of(const Arguments& arguments, bool one_variable);

// Whether tables of samples were given, of which the formula is to be taken.
bool has_samples(const Arguments& arguments);

// Throws Error for words that make no sense, such as a tolerance below 0, or breaks where there are two
// variables.
Asked asked_of(const Arguments& arguments);

// Where a GPU waits for what is too long for the processors: after how many evaluations of the formula.
// Nothing: it does not wait for this.
std::optional<std::int64_t> patience_of(const Asked& asked, const Run& run);
// Of the time that the words allow, what a device before this one has left.
void take_over(Asked& asked, const Run& run);
// Why the answer is this device's.
void tell_taken_over(quadrature::Answer& answer, const Run& run);

// `by_regions`: how regions are integrated over, where it is not on the processors; `engine`: VEGAS likewise.
// Throws OutOfPatience where several variables take more than `patience` evaluations here.
quadrature::Answer answer_to(const Asked& asked, int threads, const quadrature::ByRegions& by_regions = {},
                             const quadrature::VegasEngineFor& engine = {},
                             std::optional<std::int64_t> patience = {});

// The integral over x of a formula of the samples x and y, as the trapezoid or Simpson's rule has it.
quadrature::Answer answer_from_samples(const Arguments& arguments);

// The answer, scaled and rounded to the element given back, which is one rounding more: rules add in f64.
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

// The answer, scaled, by the signature's names.
Values told_of(const quadrature::Answer& answer, double scale);

// The scaled integral in long double, and how far the answer may be from it. Throws Error where that cannot
// be told.
Bounded rule_reference(const Asked& asked, Element element);

}  // namespace tessera::integration
