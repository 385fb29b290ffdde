// SPDX-License-Identifier: Apache-2.0
// Which rule uses which option. One that it does not use is refused: it would be ignored in silence.
#pragma once
#include <span>
#include <string>
#include "tessera/core/arguments.hpp"

namespace tessera::integration {

// What is integrated: heights that are added up, a function of one variable or of several, or samples.
enum class Way { strips, one_variable, several_variables, samples };

enum Option : unsigned {
  points = 1,  // known breaks
  caps = 2,    // --most-evaluations, --most-seconds
  random_seed = 4,
  strips = 8,
  adding = 16,  // --sum, --abscissa, --scale-at, --roots
};

// --relative, --absolute and --scale are everybody's.
struct OptionUse {
  const char* rule;
  Way way;
  unsigned uses;  // of Option
};
std::span<const OptionUse> option_uses();

// Throws Error for an option that the rule named does not use in this way, unless it has its usual value.
void check_options(const Arguments& arguments, Way way);

}  // namespace tessera::integration
