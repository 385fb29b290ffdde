// SPDX-License-Identifier: Apache-2.0
// Reference values of integrals, with error bounds.
#pragma once
#include <span>
#include <string>
#include "ops/integrate/integrate_options.hpp"
#include "ops/integrate/sum/bounded.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::integration {

// A trapezoid sum: the same abscissae in higher precision, with a bound: the rounding of each sample,
// followed through the formula; that of adding so many numbers by this method; that of the last products.
// Another rule: rule_reference().
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

// An integral between two limits, one of which may be infinite, by the double exponential rule. Its step is
// halved until the sum stays; the error is the last change, plus the integral beyond the outermost points.
// Points are mirror images, so for an integrand with many jumps, pairs of them may miss every place where
// their sum changes, and few steps prove nothing. If only zeros are seen, the error is infinite.
struct LongIntegral {
  long double value = 0, error = 0, sizes = 0;  // sizes: the integral of |f|
  std::int64_t points = 0;
};
// `samples`: points of a scan that precedes it, and finds features to cut at.
LongIntegral integral_between(const formula::Program<double>& f, long double a, long double b,
                              int fewest_steps, int samples);

// Returns the scaled integral in long double, with a bound on the answer's distance from it. Throws Error.
struct RuleReference {
  Bounded integral;
  std::string how;  // in words: the points, and what they exclude
};
RuleReference rule_reference(const RuleOptions& options, Element element);

}  // namespace tessera::integration
