// SPDX-License-Identifier: Apache-2.0
// Half-infinite ranges whose tail swings for ever, by the rules that are made for it.
#pragma once
#include <span>
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

enum class Swings { epsilon, ooura_mori };

// Up to a zero by `automatic`, from there on by the rule that was asked for: behind what the formula or
// probes show to stand out from the swings. Throws Error for a range that has not one infinite limit; where
// the tail does not swing, or not evenly enough, the reason says so.
Answer swinging(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                std::span<const double> points, Swings how);

}  // namespace tessera::quadrature
