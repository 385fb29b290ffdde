// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: one block of 1024 threads computes all of C.
//
// The first step from a serial loop to a grid: the threads of a single block walk over C in patches of
// 32 × 32, each summing its element like the serial loop. A block runs on one multiprocessor, so the others
// idle: that is the limit, before memory is.
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct OneBlock {
  static constexpr int side = 32, threads = side * side;

  using Shared = NoShared;

  static Launch launch(const Problem<T>&, const Tuning&) { return {.grid = {}, .block = {side, side}}; }

  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    return {.block = {0, 0, 0}, .thread = {int(j % side), int(i % side), 0}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const auto [x, y, z] = thread.index();
    for (std::int64_t row = y; row < p.m(); row += side) {
      for (std::int64_t col = x; col < p.n(); col += side) {
        T sum = 0;
        for (std::int64_t l = 0; l < p.k(); ++l) sum = multiply_add(p.a(row, l), p.b(l, col), sum);
        p.store(row, col, sum);
      }
    }
  }
};

const KernelRung<Problem, Config, OneBlock, Config{}> rung{"one block of 1024 threads does it all"};

}  // namespace
}  // namespace tessera::matmul
