// SPDX-License-Identifier: Apache-2.0
// GPU rung 4: tiles without shared memory.
//
// The block walks along k tile by tile with a barrier after each, so that all its warps read the same tile
// of A and of B at the same time and the L1 cache serves the reuse. Every load still needs a cache lookup,
// and other blocks on the multiprocessor may evict the tiles.
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  int tile = 32;  // rows and columns of C per block, and the depth of a step
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
struct CachedTiles {
  static constexpr int tile = config.tile, threads = tile * tile;

  using Shared = NoShared;

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + tile - 1) / tile, (p.m() + tile - 1) / tile}, .block = {tile, tile}};
  }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    return {.block = {int(j / tile), int(i / tile), 0}, .thread = {int(j % tile), int(i % tile), 0}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t row = std::int64_t{thread.block().y} * tile + thread.index().y;
    const std::int64_t col = std::int64_t{thread.block().x} * tile + thread.index().x;
    const bool inside = row < p.m() && col < p.n();
    T sum = 0;
    for (std::int64_t k0 = 0; k0 < p.k(); k0 += tile) {
      const std::int64_t end = !inside ? k0 : k0 + tile < p.k() ? k0 + tile : p.k();
      for (std::int64_t l = k0; l < end; ++l) sum = multiply_add(p.a(row, l), p.b(l, col), sum);
      thread.sync();
    }
    p.store(row, col, sum);
  }
};

const KernelRung<Problem, Config, CachedTiles, Config{32}, Config{16}, Config{8}> rung{
    "tiles walked in step, so that the hardware cache serves the reuse"};

}  // namespace
}  // namespace tessera::matmul
