// SPDX-License-Identifier: Apache-2.0
// What the tables of the study of precision show, in words, and no more than they show.
#pragma once
#include <cmath>
#include <string>
#include <vector>
#include "falling_error.hpp"
#include "setting.hpp"

namespace tessera::integration {

// What adding in float changed, in units of a float's last place: beside the exact sum of the same strips.
struct Drift {
  std::int64_t strips = 0;
  double exact = 0, plain = 0, pairwise = 0, kahan = 0;
};

struct Drifts {
  std::vector<Drift> rows = {};
  double exact = 0;      // of the most strips so far
  double magnitude = 0;  // the integral of |f|

  // Heights cancel: the sum's own last place says nothing of what was added.
  bool cancels() const { return !(magnitude <= 16 * std::fabs(exact)); }
  // From the exact sum; where heights cancel, in units of the integral of |f|.
  double units(double measured) const;
};

// One launch's sum: how many units it is off.
struct Dealt {
  std::int64_t threads = 0;
  double off = 0;
};

std::string theory_of(const FallingError& falling, double scale, const Setting& setting);
std::string words_without_fall(const Drifts& drift);
std::vector<std::string> words_on_floats(const Setting& setting, const Drifts& drift);
std::string words_on_partial_sums(const std::vector<Dealt>& dealt);

}  // namespace tessera::integration
