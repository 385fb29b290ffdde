// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: neighbouring threads take neighbouring strips, and stride over the entire grid.
//
// Nothing is loaded, so the order makes no difference to memory. It changes the sum: a thread's strips now
// come from the whole range, so all threads add numbers of similar size and their partial sums are alike;
// with equal runs the first threads' sums are the largest. (Sums with a fixed order keep it; their runs are
// assigned round-robin.) It is still limited by one partial sum per thread.
#include "integrate.hpp"
#include "tessera/kernel.hpp"
#include "sum/partials.hpp"

namespace tessera::integration {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct GridStride {
  static constexpr int threads = 1024;
  using Shared = NoShared;

  static std::vector<Range> ranges() { return launch_ranges(264, 256); }
  static Launch launch(const Problem<T>&, const Tuning& t) { return launch_of(t); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning& t) {
    return partial_bytes<T>(p.sum, p.runs(workers(t)).count);
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t all = workers(thread), me = worker(thread);
    if (!has_fixed_order(p.sum)) {
      pairs(p)[me] = p.add_strips(me, p.strips, all);
      return;
    }
    const Runs runs = p.runs(all);
    for (std::int64_t run = me; run < runs.count; run += all) add_run_to_partials(p, runs, run);
  }

  static void finish(const Problem<T>& p, const Tuning& t, Run& run) {
    finish_on_host(p, p.runs(workers(t)).count, run);
  }
};

const KernelRung<Problem, Config, GridStride, Config{}> rung{
    "neighbouring threads take neighbouring strips, striding over the grid; the host adds their sums"};

}  // namespace
}  // namespace tessera::integration
