// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/text/suggest.hpp"
#include <algorithm>

namespace tessera {
namespace {

// Returns the optimal string alignment distance (Boytsov, 2011, "Indexing methods for approximate dictionary
// searching", section 2.1), by rows of its table: insertions, deletions, substitutions and swaps of
// neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above, twice_above;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    twice_above = std::move(above);
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, row[j - 1] + 1, above[j] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], twice_above[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // With as many edits as the word has letters, it would match any word.
  std::size_t least =
      std::min(std::max<std::size_t>(2, word.size() / 3) + 1, std::max<std::size_t>(1, word.size()));
  for (const auto& candidate : candidates)
    if (const std::size_t distance = edits(word, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  if (const std::string meant = nearest(word, names); !meant.empty())
    return "; did you mean '" + meant + "'?";
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "; there is " : ", ") + name;
  return out;
}

}  // namespace tessera
