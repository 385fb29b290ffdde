// SPDX-License-Identifier: Apache-2.0
// The words of a call: what libraries call their ways to resize, and which of them go together.
#pragma once
#include <string>
#include "axis.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::resize {

// Throws Error for names that are unknown and for wishes that a convention does not know.
Wish wish_of(const Arguments& arguments);
Method method_named(const std::string& word, Convention convention);

}  // namespace tessera::resize
