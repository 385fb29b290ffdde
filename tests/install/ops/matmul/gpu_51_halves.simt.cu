// SPDX-License-Identifier: Apache-2.0
// A stranger's kernel: two threads share an element of C, each sums half of it.
#include "tessera/kernel.hpp"
#include "tessera/ops/matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  int elements = 32;  // of C per block
  Tuning tuning() const { return {{"elements", elements}}; }
};

template <class T, Config config>
struct Halves {
  static constexpr int threads = 2 * config.elements;
  struct Shared {
    T half[static_cast<std::size_t>(config.elements)];
  };

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + config.elements - 1) / config.elements, p.m()}, .block = {config.elements, 2}};
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const std::int64_t row = thread.block().y;
    const std::int64_t col = std::int64_t{thread.block().x} * config.elements + thread.index().x;
    const bool upper = thread.index().y == 1;
    T sum = 0;
    for (std::int64_t l = upper ? p.k() / 2 : 0; l < (upper ? p.k() : p.k() / 2); ++l)
      sum = multiply_add(p.a_or_zero(row, l), p.b_or_zero(l, col), sum);
    if (upper) shared.half[thread.index().x] = sum;
    thread.sync();
    if (!upper) p.store(row, col, multiply_add(T{1}, shared.half[thread.index().x], sum));
  }
};

const KernelRung<Problem, Config, Halves, Config{}, Config{.elements = 8}> rung{
    "two threads share an element"};

}  // namespace
}  // namespace tessera::matmul
