// SPDX-License-Identifier: Apache-2.0
#include "batch_plan.hpp"
#include "tessera/core/array/rounding.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::matmul_batch {
namespace {

double unit_us(const matmul::TileCost& cost, const EntrySize& entry, int multiprocessors) {
  return static_cast<double>(entry.k_tiles) * matmul::busy_k_tile_us(cost, multiprocessors) + cost.tile_us;
}

// Returns the time if all units took the mean time and ran in rounds, but at least that of the longest unit.
double batch_us(const matmul::TileCost& cost, std::span<const EntrySize> sizes, std::int64_t count,
                int multiprocessors) {
  const int slots = std::max(1, multiprocessors / (cost.cluster_rows * cost.cluster_cols));
  double units = 0, work = 0, longest = 0;
  for (const EntrySize& size : sizes) {
    const double here =
        static_cast<double>(order_of(cost, size.m, size.n).count()) * static_cast<double>(count);
    if (here == 0) continue;
    units += here;
    const double us = unit_us(cost, size, multiprocessors);
    work += here * us;
    longest = std::max(longest, us);
  }
  return units == 0 ? 0 : std::max(longest, std::ceil(units / slots) * (work / units));
}

}  // namespace

TileOrder order_of(const matmul::TileCost& cost, std::int64_t m, std::int64_t n) {
  constexpr std::int32_t usual_raster_rows = 8;
  TileOrder out;
  out.rows = static_cast<std::int32_t>(ceil_div(m, std::int64_t{cost.rows} * cost.cluster_rows));
  out.cols = static_cast<std::int32_t>(ceil_div(n, std::int64_t{cost.cols} * cost.cluster_cols));
  out.raster_rows = usual_raster_rows;
  return out;
}

std::int64_t max_units_of(std::int64_t m, std::int64_t n) {
  std::int64_t out = 0;
  for (const TileCosts costs : {TileCosts(matmul::tile_costs), TileCosts(matmul::promoted_costs)})
    for (const matmul::TileCost& cost : costs)
      out = std::max<std::int64_t>(out, order_of(cost, m, n).count());
  return out;
}

int choose_tile(TileCosts costs, std::span<const EntrySize> sizes, std::int64_t count, int multiprocessors,
                unsigned tiles, int options) {
  int best = -1;
  double least = 0;
  for (int tile = 0; tile < static_cast<int>(costs.size()); ++tile) {
    if ((tiles >> tile & 1) == 0) continue;
    if (options == tile + 1) return tile;
    const double microseconds =
        batch_us(costs[static_cast<std::size_t>(tile)], sizes, count, multiprocessors);
    if (best >= 0 && microseconds >= least) continue;
    best = tile;
    least = microseconds;
  }
  return best;
}

GroupOrder order_group(const matmul::TileCost& cost, std::span<const EntrySize> sizes) {
  GroupOrder out;
  std::vector<std::int32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::int32_t e) { return sizes[static_cast<std::size_t>(e)].k_tiles; });
  for (const std::int32_t entry : order) {
    const EntrySize& size = sizes[static_cast<std::size_t>(entry)];
    const std::int64_t units = order_of(cost, size.m, size.n).count();
    if (units == 0) continue;
    out.entries.push_back(entry);
    out.first.push_back(static_cast<std::int32_t>(out.units));
    out.units += units;
  }
  return out;
}

}  // namespace tessera::matmul_batch
