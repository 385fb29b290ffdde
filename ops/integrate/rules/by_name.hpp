// SPDX-License-Identifier: Apache-2.0
// The rules by their names, as commands and programs ask for them. "auto" chooses one and has another check
// it; any other name stands for itself, and nobody checks its error.
#pragma once
#include <span>
#include <string>
#include "ops/integrate/rules/domain.hpp"
#include "ops/integrate/rules/vegas.hpp"

namespace tessera::quadrature {

// Where a limit is greater than the other, the integral counts negatively. Throws Error for a rule that there
// is not, or that is for another number of variables, and for limits, tolerances and caps without sense.
// `seed`: of rules whose points are random. `by_regions` and `engine`: where such rules compute.
Answer by_name(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points);
Answer by_name(const std::string& rule, const ManyValues& f, const Box& box, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points, int threads, std::uint64_t seed = 1,
               const ByRegions& by_regions = {}, const VegasEngineFor& engine = {});

}  // namespace tessera::quadrature
