// SPDX-License-Identifier: Apache-2.0
// How a batch is checked: each integral by another rule in higher precision, within its own tolerance.
#pragma once
#include <span>
#include "tessera/core/operation.hpp"

namespace tessera::integrate_batch {

// The double exponential sum in long double, of every stretch between the cuts, with the formula's value in
// long double too. Where the rule itself does not claim to have
// converged, or the sum has not, it is not checked: such values are `unproven`.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

}  // namespace tessera::integrate_batch
