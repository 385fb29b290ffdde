// SPDX-License-Identifier: Apache-2.0
// GPU rung 4: shuffles and shared memory reduce a block's sums before one is written.
//
// Five shuffles reduce a warp's 32 sums in registers, and shared memory reduces the warps of a block, so the
// host gets one number per block (or per 32 runs, if the order is fixed). It is now limited by latency: the
// host must wait for the kernel's end before it can fetch, add and write the result.
#include "integrate.hpp"
#include "tessera/kernel.hpp"
#include "sum/partials.hpp"

namespace tessera::integration {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct WarpSums {
  static constexpr int threads = 1024;
  using Shared = ReductionScratch<T>;

  static std::vector<Range> ranges() { return launch_ranges(264, 256); }
  static Launch launch(const Problem<T>&, const Tuning& t) { return launch_of(t); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning& t) {
    return partial_bytes<T>(p.sum, joined_count(p, t["block"], workers(t)));
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    leave_partials(thread, shared, p);
  }

  static void finish(const Problem<T>& p, const Tuning& t, Run& run) {
    finish_on_host(p, joined_count(p, t["block"], workers(t)), run);
  }
};

const KernelRung<Problem, Config, WarpSums, Config{}> rung{
    "lanes and warps join their sums; the host adds one for each block"};

}  // namespace
}  // namespace tessera::integration
