// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: tiles in shared memory.
//
// A block loads the samples of its tile and its halo once, border included, and its threads read their taps
// from shared memory. Neighbouring tiles load the halo, too: the smaller the tile, the larger that share. The
// limits are that every tap is still a load, though from shared memory, and that every thread has only one
// sample.
#include "tessera/kernel.hpp"
#include "filter.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int tile = 16;  // pixels along both sides of a block
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
struct SharedTiles {
  static constexpr int tile = config.tile, threads = tile * tile, most = tile + max_taps - 1;

  struct Shared {
    Kept<T> sample[most][most];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.cols() + tile - 1) / tile, (p.rows() + tile - 1) / tile, p.images() * p.channels()},
            .block = {tile, tile}};
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const auto [tx, ty, tz] = thread.index();
    const int x0 = thread.block().x * tile, y0 = thread.block().y * tile;
    const int n = thread.block().z / p.channels(), c = thread.block().z % p.channels();
    const int high = tile + p.taps.rows - 1, wide = tile + p.taps.cols - 1;
    for (int i = ty; i < high; i += tile)
      for (int j = tx; j < wide; j += tile)
        shared.sample[i][j] =
            kept(p.sample(n, y0 + p.roi_y - p.taps.above + i, x0 + p.roi_x - p.taps.left + j, c));
    thread.sync();
    if (x0 + tx >= p.cols() || y0 + ty >= p.rows()) return;
    const auto fetch = [&](int i, int j) { return shared.sample[ty + i][tx + j]; };
    if constexpr (std::is_integral_v<T>) {
      if (p.taps.whole) return p.store(n, y0 + ty, x0 + tx, c, sum_of<std::int32_t>(p.taps, fetch));
    }
    p.store(n, y0 + ty, x0 + tx, c, sum_of<float>(p.taps, fetch));
  }
};

const KernelRung<Problem, Config, SharedTiles, Config{16}, Config{4}, Config{8}> rung{
    "tiles and what surrounds them in shared memory: each sample is read once per block"};

}  // namespace
}  // namespace tessera::filtering
