// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: one thread for each element, neighbouring lanes in neighbouring columns.
//
// A warp along x now shares one element of A and reads contiguous elements of B: one broadcast and whole
// sectors, where the exchanged indices took a sector for every lane. Every thread still fetches its own row
// and column, two loads for each multiply-add, all of which the caches have to serve.
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct PerElement {
  static constexpr int threads = 1024;

  using Shared = NoShared;

  static std::vector<Range> ranges() {
    return {{.name = "x", .first = 1, .last = 1024, .value = 16},
            {.name = "y", .first = 1, .last = 1024, .value = 16}};
  }

  static Launch launch(const Problem<T>& p, const Tuning& t) {
    const int x = t["x"], y = t["y"];
    return {.grid = {(p.n() + x - 1) / x, (p.m() + y - 1) / y}, .block = {x, y}};
  }

  static Owner owner(const Tuning& t, std::int64_t i, std::int64_t j) {
    const int x = t["x"], y = t["y"];
    return {.block = {int(j / x), int(i / y), 0}, .thread = {int(j % x), int(i % y), 0}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t row = std::int64_t{thread.block().y} * thread.size().y + thread.index().y;
    const std::int64_t col = std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
    if (row >= p.m() || col >= p.n()) return;
    T sum = 0;
    for (std::int64_t l = 0; l < p.k(); ++l) sum = multiply_add(p.a(row, l), p.b(l, col), sum);
    p.store(row, col, sum);
  }
};

const KernelRung<Problem, Config, PerElement, Config{}> rung{
    "one thread for each element, neighbouring lanes in neighbouring columns"};

}  // namespace
}  // namespace tessera::matmul
