// SPDX-License-Identifier: Apache-2.0
// A rung with a mistake that a tracer overlooks which does not see copies: a tile of A in shared memory,
// and each thread copies its row from there as a whole; the barrier behind the copy is missing.
#include <cstring>
#include "tessera/kernel.hpp"
#include "tessera/matmul_variants.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  bool builtin = false;
  Tuning tuning() const { return {{"builtin", builtin}}; }
};

template <class T, Config config>
struct CopiedRows {
  static constexpr int tile = 16;
  struct Shared {
    T a[tile][tile];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + tile - 1) / tile, (p.m() + tile - 1) / tile}, .block = {tile, tile}};
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const auto [x, y, z] = thread.index();
    const std::int64_t row = std::int64_t{thread.block().y} * tile + y;
    const std::int64_t col = std::int64_t{thread.block().x} * tile + x;
    T sum = 0, mine[tile];
    for (std::int64_t k0 = 0; k0 < p.k(); k0 += tile) {
      shared.a[y][x] = p.a_or_zero(row, k0 + x);
      thread.sync();
      if constexpr (config.builtin) __builtin_memcpy(mine, shared.a[y], sizeof mine);
      else memcpy(mine, shared.a[y], sizeof mine);
      for (int l = 0; l < tile; ++l) sum = multiply_add(mine[l], p.b_or_zero(k0 + l, col), sum);
    }
    p.store(row, col, sum);
  }
};

const KernelRung<Problem, Config, CopiedRows, Config{.builtin = false}, Config{.builtin = true}> rung{
    "rows of A copied from shared memory as a whole, with a barrier missing"};

}  // namespace
}  // namespace tessera::matmul
