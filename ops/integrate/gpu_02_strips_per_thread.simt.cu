// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: equal runs of neighbouring strips for block × thread threads; the host adds the partial sums.
//
// Threads are independent, so there can be as many as strips. More threads than lanes pay off, too, because
// while one waits for a result, another fills the pipeline. This latency hiding explains a gain far beyond
// the number of lanes. It is now limited by the transfer to the host: one partial sum per thread crosses the
// bus, and the host adds them one by one.
#include "integrate.hpp"
#include "tessera/kernel.hpp"
#include "sum/partials.hpp"

namespace tessera::integration {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct StripsPerThread {
  static constexpr int threads = 1024;
  using Shared = NoShared;

  static std::vector<Range> ranges() { return launch_ranges(256, 256); }
  static Launch launch(const Problem<T>&, const Tuning& t) { return launch_of(t); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning& t) {
    return partial_bytes<T>(p.sum, p.runs(workers(t)).count);
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t all = workers(thread), me = worker(thread);
    const Runs runs = p.runs(all);
    for (std::int64_t run = runs.count * me / all; run < runs.count * (me + 1) / all; ++run)
      add_run_to_partials(p, runs, run);
  }

  static void finish(const Problem<T>& p, const Tuning& t, Run& run) {
    finish_on_host(p, p.runs(workers(t)).count, run);
  }
};

const KernelRung<Problem, Config, StripsPerThread, Config{}> rung{
    "equal runs of neighbouring strips for block × thread threads; the host adds their sums"};

}  // namespace
}  // namespace tessera::integration
