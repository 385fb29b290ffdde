// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: one thread per pixel, all loads from global memory.
//
// Neighbouring threads read neighbouring samples, and most repeated loads hit the cache; but each tap of a
// kernel is a load of its own, tests the border, and moves one sample instead of 16 bytes.
#include "tessera/kernel.hpp"
#include "filter.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int tile = 16;  // pixels along both sides of a block
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
struct Global {
  static constexpr int tile = config.tile, threads = tile * tile;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.cols() + tile - 1) / tile, (p.rows() + tile - 1) / tile, p.images()},
            .block = {tile, tile}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int x = thread.block().x * tile + thread.index().x, y = thread.block().y * tile + thread.index().y;
    if (x >= p.cols() || y >= p.rows()) return;
    for (int c = 0; c < p.channels(); ++c) p.compute(thread.block().z, y, x, c);
  }
};

const KernelRung<Problem, Config, Global, Config{16}, Config{4}, Config{8}, Config{32}> rung{
    "a thread for each pixel, every tap from global memory"};

}  // namespace
}  // namespace tessera::filtering
