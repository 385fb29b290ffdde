// SPDX-License-Identifier: Apache-2.0
// A rung that exchanges row and column where the grid is made: of a result that is not square it leaves
// elements out. It makes fewer accesses than one that is right, and must not look better for that.
#include "tessera/kernel.hpp"
#include "tessera/ops/matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct SwappedGrid {
  static constexpr int tile = 16;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.m() + tile - 1) / tile, (p.n() + tile - 1) / tile}, .block = {tile, tile}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t row = std::int64_t{thread.block().y} * tile + thread.index().y;
    const std::int64_t col = std::int64_t{thread.block().x} * tile + thread.index().x;
    T sum = 0;
    for (std::int64_t l = 0; l < p.k(); ++l)
      sum = multiply_add(p.a_or_zero(row, l), p.b_or_zero(l, col), sum);
    p.store(row, col, sum);
  }
};

const KernelRung<Problem, Config, SwappedGrid, Config{}> rung{
    "wrong on purpose: rows and columns of the grid exchanged"};

}  // namespace
}  // namespace tessera::matmul
