// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: one thread per pixel of the result, all loads from global memory.
//
// Neighbouring threads read neighbouring samples, and most repeated loads hit the cache. The sum along a row
// is computed again for every row of the result that uses it: with k taps along and k across, k × k products
// where 2k would do.
#include "resize_kernel.hpp"

namespace tessera::resizing {
namespace {

struct Config {
  int rows = 8;  // rows of pixels per block; a warp covers part of a row
  Tuning tuning() const { return {{"rows", rows}}; }
};

template <class T, Config config>
struct Global {
  static constexpr int cols = 32, rows = config.rows, threads = rows * cols;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.cols() + cols - 1) / cols, (p.rows() + rows - 1) / rows, p.images()},
            .block = {cols, rows}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int x = thread.block().x * cols + thread.index().x, y = thread.block().y * rows + thread.index().y;
    if (x < p.cols() && y < p.rows()) p.compute(thread.block().z, y, x);
  }
};

const KernelRung<Problem, Config, Global, Config{8}, Config{4}> rung{
    "a thread for each pixel of the result, every sum anew"};

}  // namespace
}  // namespace tessera::resizing
