// SPDX-License-Identifier: Apache-2.0
// The words of a call: what libraries call their ways to resize, and which of them go together.
#pragma once
#include <cstdint>
#include <string>
#include "axis.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::resize {

// Throws Error for names that are unknown and for wishes that a convention does not know.
Wish wish_of(const Arguments& arguments);
// That many times a side, to the nearest, halves up: exactly, of a number in decimal as it was typed.
std::int64_t scaled(std::int64_t side, const std::string& scale);
Method method_named(const std::string& word, Convention convention);

}  // namespace tessera::resize
