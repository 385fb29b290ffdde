// SPDX-License-Identifier: Apache-2.0
// The words behind an operation's name where several problems may be meant: text that comes by its place,
// and sizes.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera::cli {

struct Positionals {
  Arguments::Words words;
  std::vector<std::string> sizes;  // "m=256:1024:x2"
};
// `words`: the operation's name first. Throws Error where text that must come does not.
Positionals positionals_of(const Operation& operation, const std::vector<std::string>& words);

// Every combination of the sizes, each as `base` with them. Those left out have the signature's defaults.
// Throws Error where one is missing or unknown.
std::vector<Case> problems_of(const Operation& operation, std::vector<std::string> sizes, const Case& base);

// What a problem is called above its table: the operation, its text, its sizes.
std::string title_of(const Operation& operation, const Case& problem);

}  // namespace tessera::cli
