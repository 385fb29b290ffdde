// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: a warp per integral.
//
// The 42 points of two cells are computed by 22 lanes in two steps, and all lanes search for the worst cell.
// A hard integral takes a tenth of the time, and no lane waits for another's integral. The limits are that
// ten lanes of a warp have no points, that lanes synchronize three times for each pair of cells, and the
// interpreter.
#include "integrate_batch.hpp"
#include "tessera/kernel.hpp"

namespace tessera::integrate_batch {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct WarpPerIntegral {
  static constexpr int threads = 128;
  struct Shared {
    WarpExchange exchange[threads / Thread::warp_size];
  };

  static std::vector<Range> ranges() {
    return {{.name = "block", .first = 1, .last = 1 << 16, .value = 1056},
            {.name = "warps", .first = 1, .last = threads / Thread::warp_size, .value = 2}};
  }
  static Launch launch(const Problem<T>& p, const Tuning& t) {
    const std::int64_t needed = (p.work.count + t["warps"] - 1) / t["warps"];
    return {.grid = {std::min<std::int64_t>(needed, t["block"])}, .block = {Thread::warp_size * t["warps"]}};
  }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning& t) {
    return static_cast<std::size_t>(launch(p, t).blocks() * t["warps"] * list_bytes(p.cells));
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    const int warps = thread.size().x / Thread::warp_size;
    const std::int64_t mine = std::int64_t{thread.block().x} * warps + thread.warp();
    const std::int64_t all = std::int64_t{thread.grid().x} * warps;
    const OwnCells cells =
        OwnCells::of(static_cast<char*>(p.workspace) + mine * list_bytes(p.cells), p.cells, 1, 0);
    for (std::int64_t i = mine; i < p.work.count; i += all) {
      Formula f = p.formula_of(p.integrand, i);
      Formula ends = p.ends_of(i);
      const IntegralResult ended =
          integrate_together(thread, shared.exchange[thread.warp()], cells, p.work.nodes,
                             tolerance_of_row(p.work, i), f, ends, p.work.breaks);
      if (thread.lane() == 0) store(p.work, i, ended);
      thread.sync_warp();
    }
  }
};

const KernelRung<Problem, Config, WarpPerIntegral, Config{}> rung{
    "a warp per integral, its lanes on the points of two cells"};

}  // namespace
}  // namespace tessera::integrate_batch
