// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread for each sample, striding over the grid.
//
// Neighbours read neighbours. What limits it is the interpreter; of a table in host memory, its way there.
#include "ops/integrate/partials.hpp"
#include "sample_heights.hpp"
#include "tessera/kernel.hpp"

namespace tessera::sample_heights {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct PerSample {
  static constexpr int threads = config.threads;
  using Shared = NoShared;

  static Launch launch(const Problem<T>& p, const Tuning&) {
    constexpr std::int64_t most = 1 << 16;
    return {.grid = {std::min(most, (p.count() + threads - 1) / threads)}, .block = {threads}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    for (std::int64_t i = integration::worker(thread); i < p.count(); i += integration::workers(thread))
      p.compute(i);
  }
};

const KernelRung<Problem, Config, PerSample, Config{}, Config{64}, Config{256}> rung{
    "a thread for each sample, as many as a GPU has room for"};

}  // namespace
}  // namespace tessera::sample_heights
