// SPDX-License-Identifier: Apache-2.0
// What a formula's own overflow hides of an integral: far out, where a power in it passes the largest number,
// x/(1+x^2) is computed as 0, and in a box exp(1000*x) is infinite.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/rules/domain.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integration {

// What lies where f overflows to 0, or to what is no number, although the formula in long double does not: by
// how fast it falls there, infinite where that is not fast enough, 0 where nothing is hidden.
struct HiddenTail {
  double from = 0;  // where it begins
  double mass = 0;
};
HiddenTail hidden_tail(const formula::Tree& tree, const std::string& variable, const quadrature::Integrand& f,
                       const quadrature::Range& range);

// Adds the tails that are computed as 0, by the formula in long double, to the answer's truncation; what is
// no longer within the tolerance is doubtful. Tails that swing are not for this: rules for them end nearer.
void charge_hidden_tails(quadrature::Answer& answer, const formula::Tree& tree, const std::string& variable,
                         const quadrature::Integrand& f, const quadrature::Range& range,
                         const quadrature::Tolerance& tolerance);

// A point of a part of the box in which f is infinite, of which rules count points as 0; empty: none was
// seen.
std::vector<double> in_infinite_part(const quadrature::ManyValues& f, const quadrature::Box& box);

}  // namespace tessera::integration
