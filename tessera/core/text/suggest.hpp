// SPDX-License-Identifier: Apache-2.0
// "Did you mean": suggestions for an unknown name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Returns the candidate nearest to `word` by edits, or "" if none is near enough.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean 'gaussian'?"; if no name is near enough, all of them: "; there is a, b, c". ""
// without names.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& names);

}  // namespace tessera
