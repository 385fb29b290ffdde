// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/grid.hpp"
#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::dist {

Interval nth_part(std::int64_t extent, std::int64_t parts, std::int64_t index) {
  const std::int64_t each = extent / parts, more = extent % parts;
  const std::int64_t first = index * each + std::min(index, more);
  return {first, first + each + (index < more ? 1 : 0)};
}

double received_bytes(const ProductSize& size, const Grid& grid) {
  const auto k = static_cast<double>(size.k);
  return k * ((grid.cols - 1) * static_cast<double>(size.m) * static_cast<double>(size.left_bytes) +
              (grid.rows - 1) * static_cast<double>(size.n) * static_cast<double>(size.right_bytes));
}

double received_by_one(const ProductSize& size, const Grid& grid) {
  const auto lacking = [](int parts) { return static_cast<double>(parts - 1) / parts; };
  return static_cast<double>(size.k) *
         (static_cast<double>(nth_part(size.m, grid.rows, 0).size() * size.left_bytes) * lacking(grid.cols) +
          static_cast<double>(nth_part(size.n, grid.cols, 0).size() * size.right_bytes) * lacking(grid.rows));
}

double largest_block(const ProductSize& size, const Grid& grid) {
  return static_cast<double>(nth_part(size.m, grid.rows, 0).size()) *
         static_cast<double>(nth_part(size.n, grid.cols, 0).size());
}

Grid best_grid(const ProductSize& size, int ranks) {
  constexpr double slack = 9.0 / 8;
  const auto most = [ranks](std::int64_t extent) {
    return static_cast<int>(std::clamp<std::int64_t>(extent, 1, ranks));
  };
  const auto each = [&](const auto& see) {
    for (int p = 1; p <= most(size.m); ++p)
      for (int q = 1; q <= std::min(most(size.n), ranks / p); ++q) see(Grid{p, q});
  };
  double smallest = largest_block(size, {1, 1});
  each([&](const Grid& grid) { smallest = std::min(smallest, largest_block(size, grid)); });
  Grid best{1, 1};
  std::optional<std::pair<double, double>> least;
  each([&](const Grid& grid) {
    const double block = largest_block(size, grid);
    if (block > slack * smallest) return;
    const std::pair cost{received_by_one(size, grid), block};
    if (least && cost >= *least) return;
    best = grid;
    least = cost;
  });
  return best;
}

Panels::Panels(std::int64_t extent, std::int64_t depth, int owners)
    : extent_(extent),
      depth_(depth),
      count_(std::max<std::int64_t>(1, (extent + depth - 1) / depth)),
      owners_(owners) {}

Interval Panels::range(std::int64_t panel) const {
  return {std::min(panel * depth_, extent_), std::min((panel + 1) * depth_, extent_)};
}

int Panels::owner(std::int64_t panel) const {
  int owner = 0;
  while (panel >= owned(owner).last) ++owner;
  return owner;
}

Interval Panels::owned(int owner) const { return nth_part(count_, owners_, owner); }

}  // namespace tessera::dist
