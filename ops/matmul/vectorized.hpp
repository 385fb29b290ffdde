// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 10, of one product and of a batch's: a tile of C, everything 16 bytes at a time.
#pragma once
#include "tiles16.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

struct VectorizedConfig {
  int rows = 128, cols = 128;  // of C per block
  Tuning tuning() const { return {{"rows", rows}, {"cols", cols}}; }
};

template <class T, VectorizedConfig config>
struct Vectorized {
  static constexpr int rows = config.rows, cols = config.cols, micro = 8;
  static constexpr int threads = rows / micro * (cols / micro);
  static constexpr int lot = Lot<T>::count, runs = micro / lot;   // a patch's row: runs of one lot each …
  static constexpr int down = rows / runs, across = cols / runs;  // … this far apart

  using TileA = Tile16<T, rows, threads>;
  using TileB = Tile16<T, cols, threads>;
  static constexpr int depth = TileA::depth;

  struct Shared {
    TileA a[2];
    TileB b[2];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + cols - 1) / cols, (p.m() + rows - 1) / rows}, .block = {threads}};
  }

  // A warp is 4 threads down and 8 across; neighbouring lanes share a run of B's tile, and those two
  // apart one of A's.
  SIMT static int across_of(int rank) { return (rank >> 1) % 8 + rank / 32 % (cols / 64) * 8; }
  SIMT static int down_of(int rank) { return rank % 2 + (rank >> 4) % 2 * 2 + rank / (cols / 2) * 4; }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    const int y = int(i % rows % down) / lot, x = int(j % cols % across) / lot;
    const int lane = y % 2 + x % 8 * 2 + y / 2 % 2 * 16, warp = x / 8 + y / 4 * (cols / 64);
    return {.block = {int(j / cols), int(i / rows), 0}, .thread = {warp * 32 + lane, 0, 0}};
  }

  SIMT static void multiply_tiles(Thread thread, const TileA& tile_a, const TileB& tile_b, int x, int y,
                                  T (&sum)[micro][micro]) {
    SIMT_UNROLL
    for (int l = 0; l < depth; ++l) {
      T a[micro], b[micro];
      SIMT_UNROLL
      for (int r = 0; r < runs; ++r) {
        tile_a.lot_at(thread, l, y * lot, r * down).copy_to(a + r * lot);
        tile_b.lot_at(thread, l, x * lot, r * across).copy_to(b + r * lot);
      }
      SIMT_UNROLL
      for (int i = 0; i < micro; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < micro; ++j) sum[i][j] = multiply_add(a[i], b[j], sum[i][j]);
      }
    }
  }

  SIMT static void write(Thread thread, const Problem<T>& p, std::int64_t row, std::int64_t col,
                         const T (&sum)[micro][micro]) {
    const bool wide = lies_in_lots(p.c.data, p.c.stride[1], p.c.stride[0]);
    SIMT_UNROLL
    for (int i = 0; i < micro; ++i) {
      SIMT_UNROLL
      for (int r = 0; r < runs; ++r)
        store_lot(thread, p, wide, row + i / lot * down + i % lot, col + r * across, &sum[i][r * lot]);
    }
  }

  // Of a problem like p, whose A and B lie there. (What p says is then read where it lies, and takes no
  // registers.)
  SIMT static void sum_products(Thread thread, Shared& shared, const Problem<T>& p, const T* a_data,
                                const T* b_data, T (&sum)[micro][micro]) {
    const int rank = thread.rank(), x = across_of(rank), y = down_of(rank);
    const std::int64_t row0 = std::int64_t{thread.block().y} * rows;
    const std::int64_t col0 = std::int64_t{thread.block().x} * cols;
    typename TileA::Filler a(a_data, row0, p.m(), p.a.stride[0], p.a.stride[1], rank);
    typename TileB::Filler b(b_data, col0, p.n(), p.b.stride[1], p.b.stride[0], rank);
    if (p.k() > 0) {
      a.fetch(thread, p.k());
      b.fetch(thread, p.k());
      a.put(thread, shared.a[0]);
      b.put(thread, shared.b[0]);
    }
    thread.sync();
    int buffer = 0;
    SIMT_NO_UNROLL
    for (std::int64_t left = p.k(); left > 0; left -= depth, buffer ^= 1) {
      if (left > depth) {
        a.fetch(thread, left - depth);
        b.fetch(thread, left - depth);
      }
      multiply_tiles(thread, shared.a[buffer], shared.b[buffer], x, y, sum);
      if (left > depth) {
        a.put(thread, shared.a[buffer ^ 1]);
        b.put(thread, shared.b[buffer ^ 1]);
      }
      thread.sync();
    }
  }

  SIMT static void write_sums(Thread thread, const Problem<T>& p, const T (&sum)[micro][micro]) {
    const int rank = thread.rank();
    write(thread, p, std::int64_t{thread.block().y} * rows + down_of(rank) * lot,
          std::int64_t{thread.block().x} * cols + across_of(rank) * lot, sum);
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    T sum[micro][micro] = {};
    sum_products(thread, shared, p, p.a.data, p.b.data, sum);
    write_sums(thread, p, sum);
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
