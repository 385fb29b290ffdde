// SPDX-License-Identifier: Apache-2.0
// Parses the words after an operation's name where several problems may be meant: positional text, and sizes
// to try, as typed: "m=256:1024:x2 n=m k=64,2*m".
#pragma once
#include <string>
#include <vector>
#include "tessera/core/text/expression.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::cli {

// Every combination, the first word's values slowest. A value is an expression over the other
// names; a word holds a list of values and of inclusive ranges first:last:step, or first:last:x2,
// which multiplies (*2 is the same). Names that go together are written (m,n)=(512,512),(1024,64).
// `names` are those that must each be given exactly once. Throws Error.
std::vector<Dims> combinations(const std::vector<std::string>& words, const std::vector<std::string>& names);

// Returns the names to the left of each '=', each once.
std::vector<std::string> names_given(const std::vector<std::string>& words);

struct Positionals {
  Arguments::Words words;
  std::vector<std::string> sizes;  // "m=256:1024:x2"
};
// `words`: the operation's name first. Throws Error if required text is missing.
Positionals positionals_of(const Operation& operation, const std::vector<std::string>& words);

// Every combination of the sizes, each added to `base`. Those left out have the signature's defaults. Throws
// Error if one is missing or unknown.
std::vector<Case> problems_of(const Operation& operation, std::vector<std::string> sizes, const Case& base);

// Returns the title of a problem's table: the operation, its text, its sizes.
std::string title_of(const Operation& operation, const Case& problem);

}  // namespace tessera::cli
