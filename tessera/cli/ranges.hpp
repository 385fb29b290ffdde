// SPDX-License-Identifier: Apache-2.0
// Sizes to try, as one types them: "m=256:1024:x2 n=m k=64,2*m".
#pragma once
#include <string>
#include <vector>
#include "tessera/core/expression.hpp"

namespace tessera::cli {

// Every combination, the first word's values slowest. A value is an expression over the other
// names; a word holds a list of values and of inclusive ranges first:last:step, or first:last:x2,
// which multiplies (*2 is the same). Names that go together are written (m,n)=(512,512),(1024,64).
// `names` are those that must each be given exactly once. Throws Error.
std::vector<Dims> combinations(const std::vector<std::string>& words, const std::vector<std::string>& names);

// The names to the left of each '=', each once.
std::vector<std::string> names_given(const std::vector<std::string>& words);

}  // namespace tessera::cli
