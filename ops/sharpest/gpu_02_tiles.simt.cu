// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: edges in shared memory, summed along rows first.
//
// For each plane, a block computes the edges of a tile and its halo once and sums them along rows; a thread
// then adds the row sums of its window. The bottleneck is the barriers of each plane.
#include "tessera/kernel.hpp"
#include "sharpest.hpp"

namespace tessera::sharpest {
namespace {

struct Config {
  int tile = 16;  // pixels along each side of a block
  Tuning tuning() const { return {{"tile", tile}}; }
};

constexpr int max_fitting = 8;  // the largest radius whose tile fits in shared memory

template <class T, Config config>
struct Tiles {
  struct Shared {
    std::uint32_t edge[config.tile + 2 * max_fitting][config.tile + 2 * max_fitting];
    std::uint32_t along[config.tile + 2 * max_fitting][config.tile];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    constexpr int tile = config.tile;
    return {.grid = {(p.width() + tile - 1) / tile, (p.height() + tile - 1) / tile}, .block = {tile, tile}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (p.radius > max_fitting) return "is for windows of at most 17 × 17 pixels";
    if (p.channels() > 16) return "is for at most 16 channels";
    return std::nullopt;
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    constexpr int tile = config.tile;
    const auto [tx, ty, tz] = thread.index();
    const int x0 = thread.block().x * tile, y0 = thread.block().y * tile, side = tile + 2 * p.radius;
    std::uint64_t largest = 0;
    int best = 0;
    for (int plane = 0; plane < p.planes(); ++plane) {
      for (int i = ty; i < side; i += tile)
        for (int j = tx; j < side; j += tile) {
          const int y = y0 + i - p.radius, x = x0 + j - p.radius;
          const bool inside = y >= 0 && y < p.height() && x >= 0 && x < p.width();
          shared.edge[i][j] = inside ? static_cast<std::uint32_t>(p.edge(plane, y, x)) : 0;
        }
      thread.sync();
      for (int i = ty; i < side; i += tile) {
        std::uint32_t sum = 0;
        for (int j = 0; j <= 2 * p.radius; ++j) sum += shared.edge[i][tx + j];
        shared.along[i][tx] = sum;
      }
      thread.sync();
      std::uint64_t sum = 0;
      for (int i = 0; i <= 2 * p.radius; ++i) sum += shared.along[ty + i][tx];
      if (sum > largest) largest = sum, best = plane;
    }
    if (x0 + tx < p.width() && y0 + ty < p.height()) p.store(y0 + ty, x0 + tx, best);
  }
};

const KernelRung<Problem, Config, Tiles, Config{}, Config{8}> rung{
    "edges of a tile in shared memory, summed along rows first"};

}  // namespace
}  // namespace tessera::sharpest
