// SPDX-License-Identifier: Apache-2.0
// Axes in parts: between breaks, and around peaks.
#pragma once
#include <vector>
#include "domain.hpp"

namespace tessera::quadrature {

// Parts between breaks; those that rounding alone tells apart are one.
std::vector<Axis> parts_of(const Range& range, const std::vector<double>& breaks);

// A height at an end that no probe can measure: points that are drawn together there lose their digits.
bool sticks_to_end(const Range& range, double x, double width);

// One peak's surroundings: where there is no end, what lies beyond the other side of it is a part of its own.
void add_around(std::vector<Axis>& parts, const Range& range, double x, double width);

}  // namespace tessera::quadrature
