// SPDX-License-Identifier: Apache-2.0
// The kernel of rungs 6, 7 and 8: tiles in shared memory, with parameters for unrolling, prefetch and outputs
// per thread. Each rung registers some combinations; the default values give rung 5's kernel.
//
// Like every rung that is written against Thread, it adds an element's products to one sum in the order of k,
// with one rounding each. All tunings therefore give the same C.
#pragma once
#include "ops/matmul/matmul.hpp"
#include "tessera/kernel.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

struct Coarsening {
  int tile = 16;     // rows and columns of threads per block, and the depth of a step
  int outputs = 1;   // elements of C per thread, in one row, `tile` columns apart
  int unroll = 0;    // 1: the loop over the depth is unrolled completely
  int prefetch = 0;  // 1: the next tiles are loaded into registers while the current ones are multiplied
  Tuning tuning() const {
    return {{"tile", tile}, {"outputs", outputs}, {"unroll", unroll}, {"prefetch", prefetch}};
  }
};

template <class T, Coarsening config>
struct Coarsened {
  static constexpr int tile = config.tile, outputs = config.outputs, width = tile * outputs;
  static constexpr int threads = tile * tile;

  struct Shared {
    T a[tile][tile], b[tile][width];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + width - 1) / width, (p.m() + tile - 1) / tile}, .block = {tile, tile}};
  }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    return {.block = {int(j / width), int(i / tile), 0}, .thread = {int(j % tile), int(i % tile), 0}};
  }

  // The elements that a thread copies to the tiles of one step, in registers.
  struct Carried {
    T a, b[outputs];

    SIMT void fetch(const Problem<T>& p, std::int64_t row, std::int64_t col, std::int64_t k0, int x, int y) {
      a = p.a_or_zero(row, k0 + x);
      SIMT_UNROLL
      for (int o = 0; o < outputs; ++o) b[o] = p.b_or_zero(k0 + y, col + o * tile);
    }
    SIMT void put(Shared& shared, int x, int y) const {
      shared.a[y][x] = a;
      SIMT_UNROLL
      for (int o = 0; o < outputs; ++o) shared.b[y][x + o * tile] = b[o];
    }
  };

  SIMT static void accumulate(const Shared& shared, int x, int y, int l, T (&sum)[outputs]) {
    const T a = shared.a[y][l];
    SIMT_UNROLL
    for (int o = 0; o < outputs; ++o) sum[o] = multiply_add(a, shared.b[l][x + o * tile], sum[o]);
  }

  SIMT static void multiply_tiles(const Shared& shared, int x, int y, T (&sum)[outputs]) {
    if constexpr (config.unroll != 0) {
      SIMT_UNROLL
      for (int l = 0; l < tile; ++l) accumulate(shared, x, y, l, sum);
    } else {
      SIMT_NO_UNROLL
      for (int l = 0; l < tile; ++l) accumulate(shared, x, y, l, sum);
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const auto [x, y, z] = thread.index();
    const std::int64_t row = std::int64_t{thread.block().y} * tile + y;
    const std::int64_t col = std::int64_t{thread.block().x} * width + x;
    T sum[outputs] = {};
    Carried next;
    if constexpr (config.prefetch != 0) next.fetch(p, row, col, 0, x, y);
    SIMT_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < p.k(); k0 += tile) {
      if constexpr (config.prefetch == 0) next.fetch(p, row, col, k0, x, y);
      next.put(shared, x, y);
      thread.sync();
      if constexpr (config.prefetch != 0) next.fetch(p, row, col, k0 + tile, x, y);
      multiply_tiles(shared, x, y, sum);
      thread.sync();
    }
    SIMT_UNROLL
    for (int o = 0; o < outputs; ++o) p.store(row, col + o * tile, sum[o]);
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
