// SPDX-License-Identifier: Apache-2.0
// How far from a top most of it lies. Beside a singular place |f| falls to half at once, and goes on falling
// so slowly that nearly all of it is much further out: points that are drawn together around the top, on an
// endless axis, miss that.
#pragma once
#include <cstdint>
#include <vector>
#include "domain.hpp"

namespace tessera::quadrature {

// `widths`: how far |f| falls to half on each axis, 0 where that is far. The distance on the endless axes at
// which shells around the top hold most, going outwards until they hold far less than the one before; at
// least the least of the widths, 0 where there is none. Adds to `evaluations`.
double spread_of(const ManyValues& f, const std::vector<Axis>& axes, const std::vector<double>& top,
                 const std::vector<double>& widths, std::int64_t& evaluations);

}  // namespace tessera::quadrature
