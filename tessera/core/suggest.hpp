// SPDX-License-Identifier: Apache-2.0
// "Did you mean": what every message says of a name that nobody knows.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The candidate nearest to `word` by edits, or "" when none is near enough to be meant.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean 'gaussian'?"; where no name is near enough, all of them: "; there is a, b, c". "" without
// names.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& names);

}  // namespace tessera
