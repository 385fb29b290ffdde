// SPDX-License-Identifier: Apache-2.0
// GPU rung 9: a patch of C in the registers of each thread.
//
// A step over k reads micro elements of A and micro of B and does micro² multiply-adds with them: the
// loads from shared memory grow with the patch's edge, the work with its area. A patch's rows and
// columns are an entire row of threads apart, so neighbouring lanes access neighbouring words. Each load
// still reads one element, and loads take issue slots from multiply-adds.
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  int block = 128;  // rows and columns of C per block
  int depth = 16;   // elements of k per step
  int micro = 8;    // rows and columns of C per thread
  Tuning tuning() const { return {{"block", block}, {"depth", depth}, {"micro", micro}}; }
};

template <class T, Config config>
struct RegisterTiles {
  static constexpr int block = config.block, depth = config.depth, micro = config.micro;
  static constexpr int side = block / micro, threads = side * side;

  struct Shared {
    T a[block][depth], b[depth][block];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + block - 1) / block, (p.m() + block - 1) / block}, .block = {side, side}};
  }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    return {.block = {int(j / block), int(i / block), 0}, .thread = {int(j % side), int(i % side), 0}};
  }

  SIMT static void fill(Shared& shared, const Problem<T>& p, std::int64_t row0, std::int64_t col0,
                        std::int64_t k0, int rank) {
    SIMT_UNROLL
    for (int e = rank; e < block * depth; e += threads) {
      const int i = e / depth, l = e % depth;
      shared.a[i][l] = p.a_or_zero(row0 + i, k0 + l);
    }
    SIMT_UNROLL
    for (int e = rank; e < block * depth; e += threads) {
      const int l = e / block, j = e % block;
      shared.b[l][j] = p.b_or_zero(k0 + l, col0 + j);
    }
  }

  SIMT static void accumulate(const Shared& shared, int x, int y, int l, T (&sum)[micro][micro]) {
    T a[micro], b[micro];
    SIMT_UNROLL
    for (int i = 0; i < micro; ++i) a[i] = shared.a[y + i * side][l];
    SIMT_UNROLL
    for (int j = 0; j < micro; ++j) b[j] = shared.b[l][x + j * side];
    SIMT_UNROLL
    for (int i = 0; i < micro; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < micro; ++j) sum[i][j] = multiply_add(a[i], b[j], sum[i][j]);
    }
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const auto [x, y, z] = thread.index();
    const std::int64_t row0 = std::int64_t{thread.block().y} * block;
    const std::int64_t col0 = std::int64_t{thread.block().x} * block;
    T sum[micro][micro] = {};
    SIMT_NO_UNROLL
    for (std::int64_t k0 = 0; k0 < p.k(); k0 += depth) {
      fill(shared, p, row0, col0, k0, thread.rank());
      thread.sync();
      SIMT_UNROLL
      for (int l = 0; l < depth; ++l) accumulate(shared, x, y, l, sum);
      thread.sync();
    }
    SIMT_UNROLL
    for (int i = 0; i < micro; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < micro; ++j) p.store(row0 + y + i * side, col0 + x + j * side, sum[i][j]);
    }
  }
};

const KernelRung<Problem, Config, RegisterTiles, Config{128, 16, 8}, Config{128, 8, 8}, Config{64, 16, 4},
                 Config{64, 8, 4}, Config{64, 8, 8}>
    rung{"a patch of C in each thread's registers: loads grow with its edge, work with its area"};

}  // namespace
}  // namespace tessera::matmul
