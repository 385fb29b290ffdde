// SPDX-License-Identifier: Apache-2.0
// How sums of segments are checked: their strips in higher precision, and how far rounding may lead; exact
// sums, digit by digit, strip after strip.
#pragma once
#include <span>
#include "tessera/core/operation.hpp"

namespace tessera::strip_sums {

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

// The segments of which a second computation, on the processors, has other bits.
std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed);

}  // namespace tessera::strip_sums
