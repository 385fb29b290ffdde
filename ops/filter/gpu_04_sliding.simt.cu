// SPDX-License-Identifier: Apache-2.0
// GPU rung 4: a window that slides down.
//
// A thread has the same 16 bytes of many rows. Every line is loaded once and added to the three rows of
// results that it touches, which stay in registers; only the lines above and below a thread's rows are loaded
// by two threads. Two more lines are in flight while one is summed. Memory bandwidth limits floats;
// arithmetic limits bytes: a register and an instruction per sample.
#include "runs.hpp"

namespace tessera::filtering {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct Sliding {
  static constexpr int threads = config.threads;
  struct Shared {};

  static std::vector<Range> ranges() { return ranges_of_runs(); }

  static Launch launch(const Problem<T>& p, const Tuning& tuning) {
    return launch_of_runs(p, tuning["rows"], threads);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) { return refuses_runs(p); }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int first = (thread.block().x * threads + thread.index().x) * run_samples<T>;
    const int bands = thread.grid().y, rows = (p.rows() + bands - 1) / bands;
    const int begin = thread.block().y * rows, end = begin + rows < p.rows() ? begin + rows : p.rows();
    filter_run(thread, p, thread.block().z, first, begin, end);
  }
};

const KernelRung<Problem, Config, Sliding, Config{}> rung{
    "each line loaded once and added to the three rows that it touches, in registers"};

}  // namespace
}  // namespace tessera::filtering
