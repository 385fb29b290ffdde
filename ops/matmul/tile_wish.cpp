// SPDX-License-Identifier: Apache-2.0
#include "tile_wish.hpp"

namespace tessera::matmul {

Reason refuses_tile(int tile, TileShapes shapes, unsigned tiles) {
  const int count = static_cast<int>(shapes.size());
  const auto is_there = [&](int one) { return one <= count && (tiles >> (one - 1) & 1) != 0; };
  if (tile == 0 || is_there(tile)) return std::nullopt;
  std::string there;
  for (int one = 1; one <= count; ++one)
    if (is_there(one)) there += (there.empty() ? "" : ", ") + std::to_string(one);
  const std::string why = tile > count ? "sums that are promoted" : "operands that are turned in loading";
  return "has no tile=" + std::to_string(tile) + " for " + why + "; it has tile=" + there;
}

}  // namespace tessera::matmul
