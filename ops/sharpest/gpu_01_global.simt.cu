// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread for each pixel, all reads from global memory.
//
// Neighbouring threads sum nearly the same windows, each for itself; L1 serves most samples.
#include "tessera/kernel.hpp"
#include "sharpest.hpp"

namespace tessera::sharpest {
namespace {

struct Config {
  int tile = 16;  // pixels along each side of a block
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
struct Global {
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    constexpr int tile = config.tile;
    return {.grid = {(p.width() + tile - 1) / tile, (p.height() + tile - 1) / tile}, .block = {tile, tile}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    constexpr int tile = config.tile;
    const int x = thread.block().x * tile + thread.index().x, y = thread.block().y * tile + thread.index().y;
    if (x < p.width() && y < p.height()) p.compute(y, x);
  }
};

const KernelRung<Problem, Config, Global, Config{}> rung{
    "a thread for each pixel, its window summed from global memory"};

}  // namespace
}  // namespace tessera::sharpest
