// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernel.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct PastEnd {
  static constexpr int threads = 32;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.m() * p.n() + threads) / threads}, .block = {threads}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t at = std::int64_t{thread.block().x} * threads + thread.index().x;
    const std::int64_t i = at / p.n(), j = at % p.n();
    if (i < p.m()) p.b(i, j) = 2 * p.a(i, j);
    if (at == p.m() * p.n()) p.b(p.m(), 0) = 0;
  }
};

const KernelRung<Problem, Config, PastEnd, Config{}> rung{"right, but one thread too many works"};

}  // namespace
}  // namespace tessera::twice
