// SPDX-License-Identifier: Apache-2.0
// The walk over everything that an operation promises: variants × choices × parameters × elements ×
// cases on one device, each result verified.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>
#include "tessera/run/verify.hpp"

namespace tessera {

struct WalkItem {
  enum class Outcome { passed, skipped, failed };
  const Variant* variant = nullptr;
  Tuning tuning;
  Element element = Element::f32;
  const Case* tried = nullptr;
  Outcome outcome = Outcome::passed;
  std::string text = {};  // why it was skipped, or what is wrong
  bool harmed = false;    // it failed by writing to memory that is not its output
};

struct WalkTotals {
  const Variant* variant = nullptr;
  std::int64_t passed = 0, skipped = 0, failed = 0;
  std::int64_t harmed = 0;   // of those that failed
  double largest_ratio = 0;  // of an error to its bound, over all that passed
};

struct Walk {
  Device device;
  std::optional<std::string> variant = {};  // this one only
  std::vector<Element> elements = {};       // these only; none: all
  // On the executor the first choice of a variant runs every case, the others those that need at most this.
  double flops_of_other_choices = 6e5;
  std::uint64_t seed = 1;
};

// One entry for each variant of the device's ladder, in its order. `each` may be empty. A variant that
// compares time only is skipped. A write outside a buffer or to an input fails, whatever the result.
std::vector<WalkTotals> walk(const Operation& operation, const Walk& walk,
                             const std::function<void(const WalkItem&)>& each = {});

std::string to_string(const Case& tried);  // "m=33 n=65 k=17 op-a=transpose exact"

}  // namespace tessera
