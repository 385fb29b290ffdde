// SPDX-License-Identifier: Apache-2.0
// Variants that compute nothing, for tests of what walks over them.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "tessera/core/operation/variant.hpp"

namespace tessera::made_up {

inline Choice choice(Tuning tuning, std::vector<Range> ranges = {}) {
  Choice out;
  out.tuning = std::move(tuning);
  out.ranges = std::move(ranges);
  return out;
}

inline Variant variant(std::string name, std::vector<Choice> choices) {
  Variant out;
  out.ladder = "gpu";
  out.name = std::move(name);
  out.choices = std::move(choices);
  return out;
}

}  // namespace tessera::made_up
