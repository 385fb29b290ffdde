// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/tiles.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tessera {
namespace {

std::int64_t granules_of(std::int64_t extent, std::int64_t granule) {
  return (extent + granule - 1) / granule;
}

std::int64_t rounded_up(std::int64_t amount, std::int64_t unit) { return granules_of(amount, unit) * unit; }

Tile first_tile(const Partition& partition, Interval rows, std::int64_t down, std::int64_t side) {
  return {{rows.first, std::min(rows.first + down, rows.last)},
          {0, std::min(side, partition.cols)},
          {0, partition.depth}};
}

// Rounds the side of a tile; long ones are cut at multiples of the usual block size of kernels.
std::int64_t rounded(std::int64_t side, std::int64_t granule) {
  constexpr std::int64_t block = 128;
  const std::int64_t unit = side > block ? std::max(block / granule * granule, granule) : granule;
  return std::max(granule, rounded_up(side, unit));
}

}  // namespace

std::vector<Interval> split_by_shares(std::int64_t extent, std::int64_t granule,
                                      std::span<const double> shares) {
  for (const double share : shares)
    if (!(share >= 0) || !std::isfinite(share))
      throw Error("a share of " + std::to_string(share) + " is none");
  const double largest = shares.empty() ? 0 : *std::ranges::max_element(shares);
  if (!(largest > 0)) throw Error("a split needs a share that is not 0");
  // Divided by the largest share, so that the sum of huge shares does not overflow.
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0,
                                     [&](double all, double share) { return all + share / largest; });
  const std::int64_t all = granules_of(extent, granule);
  std::vector<Interval> out;
  std::int64_t given = 0, first = 0;
  double upto = 0;
  for (const double share : shares) {
    upto += share / largest;
    given = std::clamp(static_cast<std::int64_t>(std::llround(upto / sum * static_cast<double>(all))), given,
                       all);
    const std::int64_t last = std::min(extent, given * granule);
    out.push_back({first, last});
    first = last;
  }
  return out;
}

std::vector<Interval> even_parts(Interval whole, std::int64_t most, std::int64_t granule) {
  if (most < 1 || granule < 1) throw Error(Error::Kind::internal, "parts of size 0");
  const std::int64_t size = whole.size();
  if (size <= 0) return {};
  const std::int64_t largest = std::max(granule, most / granule * granule);
  const std::int64_t parts = (size + largest - 1) / largest;
  const std::int64_t part = rounded_up((size + parts - 1) / parts, granule);
  std::vector<Interval> out;
  for (std::int64_t first = whole.first; first < whole.last; first += part)
    out.push_back({first, std::min(first + part, whole.last)});
  return out;
}

Grid grid_of(const Partition& partition, std::int64_t devices) {
  Grid best{devices, 1};
  const auto side = [&](const Grid& grid) {
    return static_cast<double>(partition.rows) / static_cast<double>(grid.rows) +
           static_cast<double>(partition.cols) / static_cast<double>(grid.cols);
  };
  for (std::int64_t cols = 2; cols <= devices; ++cols)
    if (const Grid grid{devices / cols, cols}; devices % cols == 0 && side(grid) < side(best)) best = grid;
  return best;
}

std::vector<std::size_t> in_growing_squares(const std::vector<Tile>& tiles, std::vector<std::size_t> some,
                                            Grid grid, std::int64_t device) {
  std::set<std::int64_t> rows, cols;
  for (const std::size_t tile : some)
    rows.insert(tiles[tile].rows.first), cols.insert(tiles[tile].cols.first);
  // Each of `readers` devices takes another one of as many panels first.
  const auto place = [](const std::set<std::int64_t>& all, std::int64_t first, std::int64_t readers,
                        std::int64_t reader) {
    const auto at = std::distance(all.begin(), all.find(first));
    return at / readers * readers + (at + readers - reader) % readers;
  };
  const std::int64_t row_of_grid = device % grid.rows, col_of_grid = device / grid.rows % grid.cols;
  std::ranges::stable_sort(some, {}, [&](std::size_t tile) {
    const auto row = place(rows, tiles[tile].rows.first, grid.cols, col_of_grid),
               col = place(cols, tiles[tile].cols.first, grid.rows, row_of_grid);
    // Square by square; each adds its new column from above, then its new row, which ends in the corner.
    return std::tuple(std::max(row, col), row >= col, std::min(row, col));
  });
  return some;
}

std::int64_t bytes_of(const Partition& partition, const Arguments& arguments, const Tile& tile) {
  std::int64_t out = 0;
  for (const auto& slices : {partition.reads(tile), partition.writes(tile)})
    for (const Slice& slice : slices)
      out += static_cast<std::int64_t>(bytes_of(slice, arguments.array(slice.array)));
  return out;
}

namespace {

// Returns even parts. Their number is rounded up to a multiple of `times`, unless there are fewer.
std::vector<Interval> times_parts(Interval whole, std::int64_t most, std::int64_t granule,
                                  std::int64_t times) {
  const std::int64_t parts = granules_of(whole.size(), most);
  if (parts >= times && parts % times != 0)
    most = std::min(most, rounded_up(granules_of(whole.size(), (parts / times + 1) * times), granule));
  return even_parts(whole, most, granule);
}

}  // namespace

std::vector<Tile> tiles_of(const Partition& partition, const Arguments& arguments, Interval rows,
                           const Tiling& tiling) {
  if (rows.empty() || partition.cols == 0) return {};
  const double elements = static_cast<double>(partition.rows) * static_cast<double>(partition.cols);
  const double most = partition.flops(partition.whole()) / tiling.min_flops;
  const double count = std::clamp(most, 1.0, static_cast<double>(std::max<std::int64_t>(1, tiling.wanted)));
  const std::int64_t granule = std::max(partition.row_granule, partition.col_granule);
  const std::int64_t side_of_square =
      rounded(static_cast<std::int64_t>(std::ceil(std::sqrt(elements / count))), granule);
  std::int64_t side = side_of_square, down = side_of_square;
  // A narrow result has longer tiles instead.
  if (side >= partition.cols)
    down = std::max(side, static_cast<std::int64_t>(std::ceil(static_cast<double>(partition.rows) / count)));
  while (tiling.memory_bytes > 0 &&
         bytes_of(partition, arguments, first_tile(partition, rows, down, side)) > tiling.memory_bytes) {
    if (side <= granule && down <= granule)
      throw Error(std::to_string(tiling.memory_bytes) + " bytes do not hold the " +
                  std::to_string(bytes_of(partition, arguments, first_tile(partition, rows, down, side))) +
                  " that the smallest part reads and writes");
    if (down == side) side = std::max(granule, side / 2);
    down = std::max(side, down / 2);
  }
  const auto all_across = times_parts({0, partition.cols}, side, partition.col_granule, tiling.grid.cols),
             all_down = times_parts(rows, down, partition.row_granule, tiling.grid.rows);
  std::vector<Tile> out;
  for (std::int64_t strip = 0; strip < tiling.grid.cols; ++strip) {
    const auto first = std::ssize(all_across) * strip / tiling.grid.cols,
               last = std::ssize(all_across) * (strip + 1) / tiling.grid.cols;
    std::vector<Interval> across(all_across.begin() + first, all_across.begin() + last);
    for (const Interval& part : all_down) {
      for (const Interval& cols : across) out.push_back({part, cols, {0, partition.depth}});
      std::ranges::reverse(across);
    }
  }
  return out;
}

}  // namespace tessera
