// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: two launches, along the rows and then across them.
//
// Each sum along a row is computed once and stored in device memory for all rows of the result that use it.
// This memory traffic limits it now: the sums are four times as wide as bytes, written once and read once per
// tap.
#include "resize_kernel.hpp"

namespace tessera::resizing {
namespace {

struct Config {
  int rows = 8;  // rows of pixels per block; a warp covers part of a row
  Tuning tuning() const { return {{"rows", rows}}; }
};

// Layers of a grid are as many as a grid can have, and pictures may be more.
template <class T>
Launch launch_of(const Problem<T>& p, std::int64_t height, int rows) {
  return {.grid = {(p.cols() + 31) / 32, (height + rows - 1) / rows, p.images()}, .block = {32, rows}};
}

template <class T>
SIMT std::int64_t place_of(const Problem<T>& p, std::int64_t n, int row, int x, int c) {
  return ((n * p.from_rows() + row) * p.cols() + x) * p.channels() + c;
}

template <class T, Config config>
struct Across {
  static constexpr int threads = 32 * config.rows;
  struct Shared {};

  template <class A>
  SIMT static void make_pixel(const Problem<T>& p, std::int64_t n, int y, int x) {
    const A* const sums = static_cast<const A*>(p.workspace);
    p.template store_pixel<A>(n, y, x, [&](int c) {
      return p.template sum_across<A>(y, [&](int row) { return sums[place_of(p, n, row, x, c)]; });
    });
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int x = thread.block().x * 32 + thread.index().x,
              y = thread.block().y * config.rows + thread.index().y;
    if (x >= p.cols() || y >= p.rows()) return;
    if constexpr (std::is_integral_v<T>) {
      if (p.plan.recipe != Recipe::real) return make_pixel<std::int32_t>(p, thread.block().z, y, x);
    }
    make_pixel<float>(p, thread.block().z, y, x);
  }
};

template <class T, Config config>
struct Separable {
  static constexpr int threads = 32 * config.rows;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return launch_of(p, p.from_rows(), config.rows);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) {
    if (p.plan.recipe == Recipe::pick) return "is for sums";
    return std::nullopt;
  }

  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning&) {
    return static_cast<std::size_t>(p.images() * p.from_rows() * p.cols() * p.channels()) * sizeof(float);
  }

  static void finish(const Problem<T>& p, const Tuning&, Run& run) {
    Problem<T> problem = p;
    launch_kernel<Across<T, config>>(launch_of(p, p.rows(), config.rows), problem, run);
  }

  template <class A>
  SIMT static void sum_pixel(const Problem<T>& p, std::int64_t n, int row, int x) {
    A* const sums = static_cast<A*>(p.workspace);
    for (int c = 0; c < p.channels(); ++c)
      sums[place_of(p, n, row, x, c)] =
          p.template sum_along<A>(x, [&](int col) { return p.template number<A>(n, row, col, c); });
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int x = thread.block().x * 32 + thread.index().x,
              row = thread.block().y * config.rows + thread.index().y;
    if (x >= p.cols() || row >= p.from_rows()) return;
    if constexpr (std::is_integral_v<T>) {
      if (p.plan.recipe != Recipe::real) return sum_pixel<std::int32_t>(p, thread.block().z, row, x);
    }
    sum_pixel<float>(p, thread.block().z, row, x);
  }
};

const KernelRung<Problem, Config, Separable, Config{8}, Config{4}> rung{
    "two launches: along the rows, then across them"};

}  // namespace
}  // namespace tessera::resizing
