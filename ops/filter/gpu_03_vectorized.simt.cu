// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: sixteen bytes at a time.
//
// A thread has a run of 16 bytes of a row: it loads three lines of them, with the few samples beside, and
// stores its results at once. Loads and stores have the full width of the hardware, and the border is tested
// once per run. Each line is still loaded for three rows of results; two of the three loads hit the cache.
#include "runs.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct Vectorized {
  static constexpr int threads = config.threads;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) { return launch_of_runs(p, 1, threads); }

  static Reason refuses(const Problem<T>& p, const Tuning&) { return refuses_runs(p); }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int first = (thread.block().x * threads + thread.index().x) * run_samples<T>, y = thread.block().y;
    filter_run(thread, p, thread.block().z, first, y, y + 1);
  }
};

const KernelRung<Problem, Config, Vectorized, Config{}> rung{
    "16 bytes of a row in a thread, loaded and stored at once"};

}  // namespace
}  // namespace tessera::filtering
