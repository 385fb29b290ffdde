// SPDX-License-Identifier: Apache-2.0
// gpu_43_own_tiles without its second barrier, as a mistake to be found: a warp that is ahead fills the
// next tiles while another still reads these. On a GPU it is right most of the time.
#include "tessera/kernel.hpp"
#include "tessera/matmul_variants.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  int tile = 16;  // rows and columns of C per block, and the depth of a step
  Tuning tuning() const { return {{"tile", tile}}; }
};

template <class T, Config config>
struct OneBarrier {
  static constexpr int tile = config.tile, threads = tile * tile;

  struct Shared {
    T a[tile][tile], b[tile][tile];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + tile - 1) / tile, (p.m() + tile - 1) / tile}, .block = {tile, tile}};
  }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    return {.block = {int(j / tile), int(i / tile), 0}, .thread = {int(j % tile), int(i % tile), 0}};
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const auto [x, y, z] = thread.index();
    const std::int64_t row = std::int64_t{thread.block().y} * tile + y;
    const std::int64_t col = std::int64_t{thread.block().x} * tile + x;
    T sum = 0;
    for (std::int64_t k0 = 0; k0 < p.k(); k0 += tile) {
      shared.a[y][x] = p.a_or_zero(row, k0 + x);
      shared.b[y][x] = p.b_or_zero(k0 + y, col);
      thread.sync();
      SIMT_NO_UNROLL
      for (int l = 0; l < tile; ++l) sum = multiply_add(shared.a[y][l], shared.b[l][x], sum);
    }
    p.store(row, col, sum);
  }
};

const KernelRung<Problem, Config, OneBarrier, Config{16}> rung{
    "wrong on purpose: nothing keeps a warp from filling tiles that another still reads"};

}  // namespace
}  // namespace tessera::matmul
