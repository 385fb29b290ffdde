// SPDX-License-Identifier: Apache-2.0
// The configurations that `sweep` and `tune` measure: compiled choices of variants, with values for the
// parameters left to the run.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "tessera/core/operation/operation.hpp"

namespace tessera::tune {

struct Config {
  const Variant* variant = nullptr;
  const Choice* choice = nullptr;
  Tuning tuning;       // every value
  Reason absent = {};  // no choice has the requested values; `choice` is then the first

  bool operator==(const Config& other) const {
    return variant == other.variant && choice == other.choice && tuning == other.tuning;
  }
};

struct SpaceOptions {
  std::vector<Dims> over = {};  // combinations of values, by name; none: everything
  Tuning fixed = {};
  bool open_ranges =
      false;  // parameters of the run that are not named take powers of two, else their defaults
  std::vector<std::string> where =
      {};  // conditions on the parameters, and on `sizes` if no parameter has that name
  Dims sizes = {};
};

struct Space {
  std::vector<Config> configs;
  std::size_t all = 0;                                       // before the conditions
  std::vector<std::pair<std::string, std::size_t>> dropped;  // by each condition, in their order
};

// Returns the configurations of each variant in turn; requested ones that no choice has keep a place. A name
// applies to the variants that have it. Throws Error for a name that none has, and for a space too large to
// walk.
Space space_of(const std::vector<const Variant*>& variants, const SpaceOptions& options);

bool has_parameter(const Variant& variant, const std::string& name);
bool has_parameter(const Choice& choice, const std::string& name);
std::vector<std::string> parameters_of(const Variant& variant);
// Throws Error if none of them has a parameter of this name.
void require_parameter(const std::vector<const Variant*>& variants, const std::string& name);

std::string describe(
    const Space& space);  // "1,204 of 4,096 configurations kept; 2,892 dropped by m*n<=16384"

}  // namespace tessera::tune
