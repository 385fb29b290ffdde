// SPDX-License-Identifier: Apache-2.0
// What the words and the shapes ask for, checked: which directions change, by how many seams.
#pragma once
#include <cstdint>
#include "energy.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::seamcarve {

// Seams along one direction. `across` is the side that changes, `length` the other one as it is then.
struct Direction {
  std::int32_t length = 0, across = 0, seams = 0;
  bool turned = false;          // the side that changes is the height
  bool enlarges = false;        // seams are doubled, not taken out
  bool unwanted_count = false;  // whether the mask of what is to go counts

  std::int32_t result() const { return enlarges ? across + seams : across - seams; }
};

struct Setting {
  Energy energy = Energy::gradient;
  int directions = 0;  // those that change, the width first; at least one
  Direction direction[2];
};

// Throws Error where a size is out of its range.
Setting setting_of(const Arguments& arguments);

Energy energy_named(const std::string& word);
// Throws Error where seams of that length could not be summed.
void check_sums(std::int64_t length, std::int64_t channels, Element element, bool masked);

}  // namespace tessera::seamcarve
