// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernel.hpp"
#include "twice.hpp"

namespace tessera::twice {
namespace {

struct Config {
  int side = 4;
  Tuning tuning() const { return {{"side", side}}; }
};

template <class T, Config config>
struct WrongThread {
  static constexpr int threads = config.side * config.side;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.n() + config.side - 1) / config.side, (p.m() + config.side - 1) / config.side},
            .block = {config.side, config.side}};
  }
  static Owner owner(const Tuning&, std::int64_t i, std::int64_t j) {
    return {.block = {int(j / config.side), int(i / config.side), 0},
            .thread = {int(j % config.side), int(i % config.side), 0}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t i = std::int64_t{thread.block().y} * config.side + thread.index().y;
    const std::int64_t j = std::int64_t{thread.block().x} * config.side + thread.index().x;
    if (i >= p.m() || j >= p.n()) return;
    const bool wrong =
        thread.block().x == 1 && thread.block().y == 0 && thread.index().x == 2 && thread.index().y == 1;
    p.b(i, j) = 2 * p.a(i, j) + (wrong ? T{1} : T{0});
  }
};

const KernelRung<Problem, Config, WrongThread, Config{}> rung{"thread (2,1) of block (1,0) is wrong"};

}  // namespace
}  // namespace tessera::twice
