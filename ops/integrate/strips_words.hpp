// SPDX-License-Identifier: Apache-2.0
// What the words say of a sum of strips, in every operation that knows one.
#pragma once
#include "setting.hpp"

namespace tessera::integration {

Sum sum_named(const std::string& word);  // one of the words that the command takes

// What of a Setting two operations are told alike: formula, range, strips, and how they are added.
Setting strips_of(const Arguments& arguments);

}  // namespace tessera::integration
