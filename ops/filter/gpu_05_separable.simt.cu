// SPDX-License-Identifier: Apache-2.0
// GPU rung 5 for kernels that are a column times a row: the summit of large ones.
//
// A block fetches a tile and what surrounds it, sums along the rows into a second tile, and then along the
// columns: as many products for a sample as the kernel has rows and columns, not as it has taps. A thread
// sums eight neighbours at once: of the samples that it loads for one tap, seven serve the next. Along rows
// the lanes of a warp lie below one another, along columns side by side, and rows have an odd length: every
// lane has a bank to itself. What limits it now is the rim: a tile sums rows for its neighbours' sake.
#include "tessera/kernel.hpp"
#include "filter.hpp"

namespace tessera::filter {
namespace {

struct Config {
  int rows = 64;  // of a tile
  Tuning tuning() const { return {{"rows", rows}}; }
};

constexpr int together = 8;  // results of a thread, side by side

// sum ← Σ weight·from[k·step …], tap after tap, for `together` results that begin one `step` apart. Behind
// the last tap's samples more may be read, in vain.
template <class A, class K>
SIMT void sum_together(const std::int32_t* weights, int taps, const K* from, int step, A (&sum)[together]) {
  A here[2 * together];
  SIMT_UNROLL
  for (int v = 0; v < together; ++v) here[together + v] = number<A>(from[v * step]);
  SIMT_NO_UNROLL
  for (int k = 0; k < taps; k += together) {
    SIMT_UNROLL
    for (int v = 0; v < together; ++v) {
      here[v] = here[together + v];
      here[together + v] = number<A>(from[(k + together + v) * step]);
    }
    SIMT_UNROLL
    for (int j = 0; j < together; ++j) {
      if (k + j >= taps || weights[k + j] == 0) continue;
      const A weight = weight_as<A>(weights[k + j]);
      SIMT_UNROLL
      for (int v = 0; v < together; ++v) sum[v] = add_product(weight, here[v + j], sum[v]);
    }
  }
}

template <class T, Config config>
struct Separable {
  static constexpr int rows = config.rows, cols = 32, threads = 256;
  static constexpr int lines = rows + most_taps - 1, spare = 2 * together;
  static constexpr int wide = (cols + most_taps - 1 + spare) | 1;

  using A = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

  struct Shared {
    Kept<T> sample[lines][wide];
    A along[lines + spare][cols + 1];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.cols() + cols - 1) / cols, (p.rows() + rows - 1) / rows, p.images() * p.channels()},
            .block = {threads}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (!p.taps.separable) return "is for kernels that are a column times a row";
    if (std::is_integral_v<T> && !p.taps.whole) return "is for whole weights, where samples are integers";
    return std::nullopt;
  }

  SIMT static void fetch(Thread thread, Shared& shared, const Problem<T>& p, int n, int c, int x0, int y0) {
    const int high = rows + p.taps.rows - 1, length = cols + p.taps.cols - 1;
    const int lane = thread.lane(), warp = thread.warp();
    for (int i = warp; i < high; i += threads / 32) {
      const int row = border_index(y0 + p.roi_y - p.taps.above + i, p.height(), p.border);
      const T* const line = row == from_constant ? nullptr : &p.image(n, row, 0, c);
      for (int j = lane; j < wide; j += 32) {
        const int col =
            j < length ? border_index(x0 + p.roi_x - p.taps.left + j, p.width(), p.border) : from_constant;
        shared.sample[i][j] =
            kept(line == nullptr || col == from_constant ? p.outside : line[col * p.image.stride[2]]);
      }
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const int x0 = thread.block().x * cols, y0 = thread.block().y * rows;
    const int n = thread.block().z / p.channels(), c = thread.block().z % p.channels();
    fetch(thread, shared, p, n, c, x0, y0);
    thread.sync();
    const int high = rows + p.taps.rows - 1;
    for (int task = thread.rank(); task < (lines + spare) * (cols / together); task += threads) {
      const int i = task % (lines + spare), j = task / (lines + spare) * together;
      A sum[together] = {};
      if (i < high) sum_together<A>(p.taps.row, p.taps.cols, &shared.sample[i][j], 1, sum);
      SIMT_UNROLL
      for (int v = 0; v < together; ++v) shared.along[i][j + v] = sum[v];
    }
    thread.sync();
    for (int task = thread.rank(); task < rows / together * cols; task += threads) {
      const int x = task % cols, y = task / cols * together;
      A sum[together] = {};
      sum_together<A>(p.taps.column, p.taps.rows, &shared.along[y][x], cols + 1, sum);
      SIMT_UNROLL
      for (int v = 0; v < together; ++v)
        if (x0 + x < p.cols() && y0 + y + v < p.rows()) p.store(n, y0 + y + v, x0 + x, c, sum[v]);
    }
  }
};

const KernelRung<Problem, Config, Separable, Config{64}, Config{32}> rung{
    "a column times a row: sums along rows, then along columns, eight results in a thread"};

}  // namespace
}  // namespace tessera::filter
