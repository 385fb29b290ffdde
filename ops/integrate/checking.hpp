// SPDX-License-Identifier: Apache-2.0
// How a trapezoid sum is checked: the same strips in higher precision, and how far rounding may lead.
#pragma once
#include <span>
#include "tessera/core/operation.hpp"

namespace tessera::integration {

// The sum over the abscissae that the elements' type gives, and a bound: what rounding does to each height,
// followed through the formula; what adding so many numbers in that way may lose; the last products.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

}  // namespace tessera::integration
