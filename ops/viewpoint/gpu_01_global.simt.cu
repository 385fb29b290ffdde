// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread for each sample of the result, everything from global memory.
//
// Neighbouring threads read neighbouring samples, but one at a time; each looks up for itself where every
// view lies and whether that is inside, which all its neighbours find out as well.
#include "tessera/kernel.hpp"
#include "viewpoint.hpp"

namespace tessera::viewpoint {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

template <class T, Config config>
struct Global {
  static constexpr int threads = config.threads;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return {.grid = {(p.row_samples() + threads - 1) / threads, p.height(), p.planes()}, .block = {threads}};
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int e = thread.block().x * threads + thread.index().x;
    if (e < p.row_samples())
      p.compute(thread.block().z, thread.block().y, e / p.channels(), e % p.channels());
  }
};

const KernelRung<Problem, Config, Global, Config{}, Config{256}> rung{
    "a thread for each sample, every view from global memory"};

}  // namespace
}  // namespace tessera::viewpoint
