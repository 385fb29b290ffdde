// SPDX-License-Identifier: Apache-2.0
// What may be done where a rule falls short: its reason says what happened, not what to try.
#pragma once
#include <string>
#include "ops/integrate/rules/answer.hpp"

namespace tessera::integration {

// For one variable; empty where there is nothing to mend. The answer is not scaled yet.
std::string advice(const quadrature::Answer& answer, double scale);

}  // namespace tessera::integration
