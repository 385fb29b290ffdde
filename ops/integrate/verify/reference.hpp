// SPDX-License-Identifier: Apache-2.0
// How integrals are checked.
#pragma once
#include <span>
#include "bounded.hpp"
#include "ops/integrate/integrate_options.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::integration {

// A trapezoid sum: the same abscissae in higher precision, with a bound: what rounding does to each sample,
// followed through the formula; what adding so many numbers in that way may lose; the last products. Another
// rule: rule_reference().
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

// One between two limits, one of which may be infinite, by the double exponential rule. Its step is halved
// until nothing moves; the last move is the error, and what lies behind the outermost points. Points lie as a
// mirror's images do: of what jumps at many places pairs of them may miss every place where a sum of two is
// another, so few steps prove nothing there. The error of nothing but zeros is infinite.
struct LongIntegral {
  long double value = 0, error = 0, sizes = 0;  // the latter: of |f|
};
LongIntegral integral_between(const formula::Program<double>& f, long double a, long double b,
                              int fewest_steps);

// The scaled integral in long double, and how far the answer may be from it. Throws Error where that cannot
// be told.
Bounded rule_reference(const RuleOptions& options, Element element);

}  // namespace tessera::integration
