// SPDX-License-Identifier: Apache-2.0
// What every message says of a word that is none of the names known there: of verbs, operations, flags,
// variants, kernels, rules, devices and whatever else has a name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// "; did you mean 'gaussian'?"; where no name is near enough to be meant, all: "; there is a, b, c". ""
// without names.
std::string meant_or_all(std::string_view word, const std::vector<std::string>& names);

}  // namespace tessera
