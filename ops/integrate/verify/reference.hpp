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

// The scaled integral in long double, and how far the answer may be from it. Throws Error where that cannot
// be told.
Bounded rule_reference(const RuleOptions& options, Element element);

}  // namespace tessera::integration
