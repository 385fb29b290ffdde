// SPDX-License-Identifier: Apache-2.0
// How a call is cut, also one of an operation that says nothing of cutting: then it is one part.
#pragma once
#include "tessera/core/division.hpp"
#include "tessera/core/operation.hpp"

namespace tessera {

// The operation's own division, else one tile, which is the call itself. `host` must stay.
Division division_of(const Operation& operation, const Arguments& host);

}  // namespace tessera
