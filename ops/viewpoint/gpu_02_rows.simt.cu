// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: a run of 16 bytes of a row in a thread.
//
// A view is shifted alike for all of a row: a thread asks once where it lies, loads words from there, brings
// them to a word's begin by funnel shifts, and weighs a sample and the one beside it by one instruction. What
// limits it now is that words are loaded one by one, and each line of a view twice, for the row above and the
// row below it.
#include "tessera/kernel.hpp"
#include "ops/imaging/light_field_kernels.hpp"
#include "viewpoint.hpp"

namespace tessera::viewpoint {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct Rows {
  static constexpr int threads = config.threads;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    const std::int64_t runs = (p.row_samples() + lightfield::run_bytes - 1) / lightfield::run_bytes;
    return {.grid = {(runs + threads - 1) / threads, p.height(), p.planes()}, .block = {threads}};
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) { return lightfield::refuses_runs(p); }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      const int run = thread.block().x * threads + thread.index().x;
      if (run * lightfield::run_bytes < p.row_samples())
        lightfield::refocus_run(thread, p, thread.block().z, thread.block().y, run, 3);
    }
  }
};

const KernelRung<Problem, Config, Rows, Config{}> rung{
    "16 bytes of a row in a thread, each view's shift asked once for them"};

}  // namespace
}  // namespace tessera::viewpoint
