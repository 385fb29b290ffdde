// SPDX-License-Identifier: Apache-2.0
// Options that would change nothing, given the others, are refused: whoever typed them expected an effect.
#pragma once
#include <string>
#include "tessera/core/arguments.hpp"

namespace tessera {

// Throws Error "--size 5 is only for `what`" unless the word says what its default says, or `serves`.
void demand_effect(const Arguments& arguments, const std::string& name, bool serves, const std::string& what);

}  // namespace tessera
