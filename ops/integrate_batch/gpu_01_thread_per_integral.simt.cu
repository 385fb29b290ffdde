// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread per integral.
//
// A thread does the work of one core for an integral, for thousands of integrals at once, and no thread waits
// for another. The limits are that a warp is busy until its hardest integral is done, that all cells are in
// global memory, and that the interpreter decodes each operator for each point.
#include "integrate_batch.hpp"
#include "tessera/kernel.hpp"

namespace tessera::integrate_batch {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct ThreadPerIntegral {
  static constexpr int threads = 256;
  using Shared = NoShared;

  static std::vector<Range> ranges() {
    return {{.name = "block", .first = 1, .last = 1 << 16, .value = 264},
            {.name = "thread", .first = 1, .last = threads, .value = 64}};
  }
  static Launch launch(const Problem<T>& p, const Tuning& t) {
    const std::int64_t needed = (p.work.count + t["thread"] - 1) / t["thread"];
    return {.grid = {std::min<std::int64_t>(needed, t["block"])}, .block = {t["thread"]}};
  }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning& t) {
    const Launch l = launch(p, t);
    return static_cast<std::size_t>(l.blocks() * l.threads() * list_bytes(p.cells));
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const std::int64_t mine = std::int64_t{thread.block().x} * thread.size().x + thread.index().x;
    const std::int64_t all = std::int64_t{thread.grid().x} * thread.size().x;
    OwnCells cells = OwnCells::of(p.workspace, p.cells, all, mine);
    for (std::int64_t i = mine; i < p.work.count; i += all) {
      Formula f = p.formula_of(p.integrand, i);
      Formula ends = p.ends_of(i);
      store(p.work, i,
            integrate_alone(cells, p.work.nodes, tolerance_of_row(p.work, i), f, ends, p.work.breaks));
    }
  }
};

const KernelRung<Problem, Config, ThreadPerIntegral, Config{}> rung{"a thread per integral"};

}  // namespace
}  // namespace tessera::integrate_batch
