// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: one thread computes a row of C.
//
// There are many blocks now, so every multiprocessor has work if C has enough rows. Lanes of a warp own
// neighbouring rows, so their accesses to A and C are an entire row apart, each in a memory sector of its
// own, and a product has far fewer rows than a GPU can hold threads.
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct RowPerThread {
  static constexpr int threads = 1024;

  using Shared = NoShared;

  static std::vector<Range> ranges() { return {{.name = "x", .first = 1, .last = 1024, .value = 64}}; }

  static Launch launch(const Problem<T>& p, const Tuning& t) {
    return {.grid = {(p.m() + t["x"] - 1) / t["x"]}, .block = {t["x"]}};
  }

  static Owner owner(const Tuning& t, std::int64_t i, std::int64_t) {
    return {.block = {int(i / t["x"]), 0, 0}, .thread = {int(i % t["x"]), 0, 0}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t row = std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
    if (row >= p.m()) return;
    for (std::int64_t col = 0; col < p.n(); ++col) {
      T sum = 0;
      for (std::int64_t l = 0; l < p.k(); ++l) sum = multiply_add(p.a(row, l), p.b(l, col), sum);
      p.store(row, col, sum);
    }
  }
};

const KernelRung<Problem, Config, RowPerThread, Config{}> rung{"many blocks, one thread for each row of C"};

}  // namespace
}  // namespace tessera::matmul
