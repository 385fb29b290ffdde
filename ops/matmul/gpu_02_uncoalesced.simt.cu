// SPDX-License-Identifier: Apache-2.0
// GPU rung 2, calibration: one thread for each element, with the indices exchanged.
//
// Parallelism is plentiful, but x, which runs along a warp, selects the row. In a step the lanes read 32
// rows of A, a sector each, and all the same element of B: with a warp along x and rows longer than a sector,
// a request takes exactly 32 sectors of A and 1 of B; these counts calibrate the tracer. Only the two index
// lines differ from the next rung.
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct Uncoalesced {
  static constexpr int threads = 1024;

  using Shared = NoShared;

  static std::vector<Range> ranges() {
    return {{.name = "x", .first = 1, .last = 1024, .value = 16},
            {.name = "y", .first = 1, .last = 1024, .value = 16}};
  }

  static Launch launch(const Problem<T>& p, const Tuning& t) {
    const int x = t["x"], y = t["y"];
    return {.grid = {(p.m() + x - 1) / x, (p.n() + y - 1) / y}, .block = {x, y}};
  }

  static Owner owner(const Tuning& t, std::int64_t i, std::int64_t j) {
    const int x = t["x"], y = t["y"];
    return {.block = {int(i / x), int(j / y), 0}, .thread = {int(i % x), int(j % y), 0}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t row = std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
    const std::int64_t col = std::int64_t{thread.block().y} * thread.size().y + thread.index().y;
    if (row >= p.m() || col >= p.n()) return;
    T sum = 0;
    for (std::int64_t l = 0; l < p.k(); ++l) sum = multiply_add(p.a(row, l), p.b(l, col), sum);
    p.store(row, col, sum);
  }
};

const KernelRung<Problem, Config, Uncoalesced, Config{}> rung{
    "one thread for each element, neighbouring lanes in neighbouring rows"};

}  // namespace
}  // namespace tessera::matmul
