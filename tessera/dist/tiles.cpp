// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/tiles.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include "tessera/dist/split.hpp"

namespace tessera::dist {
namespace {

Tile corner(const Division& division, Interval rows, std::int64_t down, std::int64_t side) {
  return {{rows.first, std::min(rows.first + down, rows.last)},
          {0, std::min(side, division.cols)},
          {0, division.depth}};
}

std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) { return (amount + unit - 1) / unit * unit; }

// Nobody said in which units devices work: long tiles are cut where blocks of kernels usually end.
std::int64_t rounded(std::int64_t side, std::int64_t granule) {
  constexpr std::int64_t block = 128;
  const std::int64_t unit = side > block ? std::max(block / granule * granule, granule) : granule;
  return std::max(granule, rounded_up(side, unit));
}

// Where cuts may lie and cost nothing.
std::int64_t cut_of(std::int64_t granule, std::int64_t unit) { return std::lcm(granule, unit); }

// Of a tile with about that many elements, whole units.
Unit sides_within_units(double elements, const Unit& cut, std::int64_t cols) {
  Unit out;
  out.cols = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(elements)) / cut.cols) * cut.cols;
  const double across = static_cast<double>(std::min(out.cols, cols));
  out.rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(elements / across) / cut.rows) * cut.rows;
  return out;
}

// What both read.
double bytes_in_common(const Division& division, const Arguments& arguments, const Tile& a, const Tile& b) {
  double out = 0;
  const auto others = division.reads(b);
  for (const Slice& slice : division.reads(a))
    if (std::ranges::find(others, slice) != others.end())
      out += static_cast<double>(tessera::bytes_of(slice, arguments.array(slice.array)));
  return out;
}

// Tiles by where they lie, in rows and columns of tiles.
class Arrivals {
 public:
  Arrivals(const Division& division, const Arguments& arguments, const std::vector<Tile>& tiles,
           const std::vector<std::size_t>& some) {
    std::set<std::int64_t> rows, cols;
    for (const std::size_t tile : some) {
      rows.insert(tiles[tile].rows.first);
      cols.insert(tiles[tile].cols.first);
      at_[{tiles[tile].rows.first, tiles[tile].cols.first}] = tile;
    }
    rows_.assign(rows.begin(), rows.end());
    cols_.assign(cols.begin(), cols.end());
    for (const std::size_t tile : some) {
      const Tile& one = tiles[tile];
      for (const std::size_t other : some) {
        if (one.rows == tiles[other].rows && one.cols != tiles[other].cols && row_bytes_ == 0)
          row_bytes_ = bytes_in_common(division, arguments, one, tiles[other]);
        if (one.cols == tiles[other].cols && one.rows != tiles[other].rows && col_bytes_ == 0)
          col_bytes_ = bytes_in_common(division, arguments, one, tiles[other]);
      }
    }
  }

  std::vector<std::size_t> order() {
    std::vector<std::size_t> out;
    std::size_t rows = 0, cols = 0;
    while (rows < rows_.size() || cols < cols_.size()) {
      const auto of_row = rows < rows_.size() ? in_row(rows, cols) : std::vector<std::size_t>();
      const auto of_col = cols < cols_.size() ? in_col(rows, cols) : std::vector<std::size_t>();
      const bool row = cols == cols_.size() ||
                       (rows < rows_.size() && static_cast<double>(of_row.size()) * col_bytes_ >=
                                                   static_cast<double>(of_col.size()) * row_bytes_);
      const auto& ready = row ? of_row : of_col;
      out.insert(out.end(), ready.begin(), ready.end());
      ++(row ? rows : cols);
    }
    return out;
  }

 private:
  std::vector<std::size_t> in_row(std::size_t row, std::size_t cols) const {
    std::vector<std::size_t> out;
    for (std::size_t c = 0; c < cols; ++c) add(rows_[row], cols_[c], out);
    return out;
  }
  std::vector<std::size_t> in_col(std::size_t rows, std::size_t col) const {
    std::vector<std::size_t> out;
    for (std::size_t r = 0; r < rows; ++r) add(rows_[r], cols_[col], out);
    return out;
  }
  void add(std::int64_t row, std::int64_t col, std::vector<std::size_t>& to) const {
    if (const auto tile = at_.find({row, col}); tile != at_.end()) to.push_back(tile->second);
  }

  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> at_;
  std::vector<std::int64_t> rows_, cols_;
  double row_bytes_ = 0, col_bytes_ = 0;
};

}  // namespace

std::vector<std::size_t> by_arrival(const Division& division, const Arguments& arguments,
                                    const std::vector<Tile>& tiles, const std::vector<std::size_t>& some) {
  return Arrivals(division, arguments, tiles, some).order();
}

Unit common_unit(const std::vector<Unit>& units) {
  constexpr std::int64_t most = 2048;
  Unit out;
  for (const Unit& unit : units) {
    if (const std::int64_t rows = std::lcm(out.rows, unit.rows); rows <= most) out.rows = rows;
    if (const std::int64_t cols = std::lcm(out.cols, unit.cols); cols <= most) out.cols = cols;
  }
  return out;
}

double work_of(const Division& division, const Tile& tile, const Unit& unit) {
  const double flops = division.flops(tile);
  if (tile.empty() || !unit.known()) return flops;
  const auto whole = [](const Interval& side, std::int64_t of) {
    return static_cast<double>(rounded_up(side.size(), of)) / static_cast<double>(side.size());
  };
  return flops * whole(tile.rows, unit.rows) * whole(tile.cols, unit.cols);
}

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
  const Unit cut{cut_of(division.row_granule, tiling.unit.rows),
                 cut_of(division.col_granule, tiling.unit.cols)};
  std::int64_t side = 0, down = 0;
  if (tiling.unit.known()) {
    const Unit sides = sides_within_units(elements / count, cut, division.cols);
    side = sides.cols, down = sides.rows;
  } else {
    side = down = rounded(static_cast<std::int64_t>(std::ceil(std::sqrt(elements / count))), granule);
    // A narrow result has longer tiles instead.
    if (side >= division.cols)
      down = std::max(side, static_cast<std::int64_t>(std::ceil(static_cast<double>(division.rows) / count)));
  }
  while (tiling.memory_bytes > 0 &&
         bytes_of(division, arguments, corner(division, rows, down, side)) > tiling.memory_bytes) {
    if (side <= granule && down <= granule)
      throw Error(std::to_string(tiling.memory_bytes) + " bytes do not hold the " +
                  std::to_string(bytes_of(division, arguments, corner(division, rows, down, side))) +
                  " that the smallest part reads and writes");
    if (down == side) side = std::max(granule, side / 2);
    down = std::max(side, down / 2);
  }
  std::vector<Tile> out;
  const auto across =
      even_parts({0, division.cols}, side, side >= cut.cols ? cut.cols : division.col_granule);
  bool back = false;
  for (const Interval& part : even_parts(rows, down, down >= cut.rows ? cut.rows : division.row_granule)) {
    for (std::size_t j = 0; j < across.size(); ++j)
      out.push_back({part, across[back ? across.size() - 1 - j : j], {0, division.depth}});
    back = !back;
  }
  return out;
}

}  // namespace tessera::dist
