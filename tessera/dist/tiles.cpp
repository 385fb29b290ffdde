// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/tiles.hpp"
#include <algorithm>
#include <cmath>
#include "tessera/dist/split.hpp"

namespace tessera::dist {
namespace {

Tile corner(const Division& division, Interval rows, std::int64_t down, std::int64_t side) {
  return {{rows.first, std::min(rows.first + down, rows.last)},
          {0, std::min(side, division.cols)},
          {0, division.depth}};
}

// Devices work in blocks of their own: a tile of less than a block costs as much as a whole one.
std::int64_t rounded(std::int64_t side, std::int64_t granule) {
  constexpr std::int64_t block = 128;
  const std::int64_t unit = side > block ? std::max(block / granule * granule, granule) : granule;
  return std::max(granule, (side + unit - 1) / unit * unit);
}

}  // namespace

std::int64_t bytes_of(const Division& division, const Arguments& arguments, const Tile& tile) {
  std::int64_t out = 0;
  for (const auto& slices : {division.reads(tile), division.writes(tile)})
    for (const Slice& slice : slices)
      out += static_cast<std::int64_t>(tessera::bytes_of(slice, arguments.array(slice.array)));
  return out;
}

std::vector<Tile> tiles_of(const Division& division, const Arguments& arguments, Interval rows,
                           const Tiling& tiling) {
  if (rows.empty() || division.cols == 0) return {};
  const double elements = static_cast<double>(division.rows) * static_cast<double>(division.cols);
  const double most = division.flops(division.whole()) / tiling.least_flops;
  const double count = std::clamp(most, 1.0, static_cast<double>(std::max<std::int64_t>(1, tiling.wanted)));
  const std::int64_t granule = std::max(division.row_granule, division.col_granule);
  auto side = rounded(static_cast<std::int64_t>(std::ceil(std::sqrt(elements / count))), granule);
  // A narrow result has longer tiles instead.
  std::int64_t down = side;
  if (side >= division.cols)
    down = std::max(side, static_cast<std::int64_t>(std::ceil(static_cast<double>(division.rows) / count)));
  while (tiling.memory_bytes > 0 &&
         bytes_of(division, arguments, corner(division, rows, down, side)) > tiling.memory_bytes) {
    if (side == granule && down == granule)
      throw Error(std::to_string(tiling.memory_bytes) + " bytes do not hold the " +
                  std::to_string(bytes_of(division, arguments, corner(division, rows, down, side))) +
                  " that the smallest part reads and writes");
    if (down == side) side = std::max(granule, side / 2);
    down = std::max(side, down / 2);
  }
  std::vector<Tile> out;
  const auto across = even_parts({0, division.cols}, side, division.col_granule);
  bool back = false;
  for (const Interval& part : even_parts(rows, down, division.row_granule)) {
    for (std::size_t j = 0; j < across.size(); ++j)
      out.push_back({part, across[back ? across.size() - 1 - j : j], {0, division.depth}});
    back = !back;
  }
  return out;
}

}  // namespace tessera::dist
