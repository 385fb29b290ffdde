// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread for each segment, striding over the grid.
//
// A segment is a subtree of the sum's order, which one thread adds up as any other would. There are up to
// 2^17 of them, enough for a GPU's threads. What limits it is the interpreter's work for each strip.
#include "strip_sums.hpp"
#include "tessera/kernel.hpp"

namespace tessera::strip_sums {
namespace {

struct Config {
  int threads = 64;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct ThreadPerSegment {
  static constexpr int threads = config.threads;
  using Shared = NoShared;

  static Launch launch(const Problem<T>& p, const Tuning&) {
    constexpr std::int64_t most = 1 << 16;
    return {.grid = {std::min(most, (p.segments + threads - 1) / threads)}, .block = {threads}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    for (std::int64_t i = integration::worker(thread); i < p.segments; i += integration::workers(thread))
      p.compute(p.first + i);
  }
};

const KernelRung<Problem, Config, ThreadPerSegment, Config{}, Config{128}, Config{32}> rung{
    "a thread for each segment, as many as a GPU has room for"};

}  // namespace
}  // namespace tessera::strip_sums
