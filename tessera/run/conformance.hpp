// SPDX-License-Identifier: Apache-2.0
// Tests everything that an operation promises: variants × choices × parameters × elements × cases on one
// device, with every result verified.
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
  std::string text = {};  // the reason for skipping it, or the failure
  bool harmed = false;    // it failed by writing to memory that is not its output
};

struct WalkTotals {
  const Variant* variant = nullptr;
  std::int64_t passed = 0, skipped = 0, failed = 0;
  std::int64_t harmed = 0;   // failures that wrote outside the output
  double largest_ratio = 0;  // the largest error relative to its bound, over all that passed
};

struct Walk {
  Device device;
  std::optional<std::string> variant = {};  // this one only
  std::vector<Element> elements = {};       // these only; none: all
  // On the executor, choices other than a variant's first run only cases of at most this many flops.
  double flops_of_other_choices = 6e5;
  std::uint64_t seed = 1;
};

// Returns one entry for each variant of the device's ladder, in its order. `each` may be empty. A variant
// that only compares time is skipped. A write outside a buffer or to an input is a failure, even if the
// result is right.
std::vector<WalkTotals> walk(const Operation& operation, const Walk& walk,
                             const std::function<void(const WalkItem&)>& each = {});

std::string to_string(const Case& tried);  // "m=33 n=65 k=17 op-a=transpose exact"

}  // namespace tessera
