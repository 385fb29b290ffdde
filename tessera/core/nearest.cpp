// SPDX-License-Identifier: Apache-2.0
// A file of its own: what only reads words needs no registry.
#include <algorithm>
#include "tessera/core/operation.hpp"

namespace tessera {
namespace {

// Levenshtein distance, with one row of the table.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates)
    if (const std::size_t distance = edits(word, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

}  // namespace tessera
