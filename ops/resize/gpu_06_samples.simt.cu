// SPDX-License-Identifier: Apache-2.0
// GPU rung 6: one thread per sample of the result, for pictures so small that all threads run at once.
//
// A small picture takes as long as one thread: strips would leave most of the GPU idle, and a second launch
// would be half of the time. Neighbouring threads read neighbouring samples. Every sum is computed again, as
// in `global`, so other rungs are faster beyond one wave of threads. The launch and the dependency chain of
// one sample's sums limit it.
#include "resize_kernel.hpp"

namespace tessera::resizing {
namespace {

struct Config {
  int block = 256;
  Tuning tuning() const { return {{"block", block}}; }
};

template <class T, Config config>
struct Samples {
  static constexpr int threads = config.block;
  struct Shared {};

  static Launch launch(const Problem<T>& p, const Tuning&) {
    const std::int64_t row = std::int64_t{p.cols()} * p.channels();
    return {.grid = {(row + threads - 1) / threads, p.rows(), p.images()}, .block = {threads}};
  }

  template <class A>
  SIMT static void compute(const Problem<T>& p, std::int64_t n, int y, int x, int c) {
    const A sum = p.template sum_across<A>(y, [&](int row) {
      return p.template sum_along<A>(x, [&](int col) { return p.template number<A>(n, row, col, c); });
    });
    p.resized(n, y, x, c) = p.sample(sum);
  }

  SIMT void operator()(Thread thread, Shared&, const Problem<T>& p) const {
    const int at = thread.block().x * threads + thread.index().x, y = thread.block().y, x = at / p.channels(),
              c = at % p.channels();
    const std::int64_t n = thread.block().z;
    if (x >= p.cols()) return;
    if (p.plan.premultiply) {  // a colour needs its alpha: the pixel's first thread computes all of it
      if (c == 0) p.compute(n, y, x);
      return;
    }
    if (p.plan.recipe == Recipe::pick) {
      p.resized(n, y, x, c) = p.image(n, p.start(p.plan.across, y), p.start(p.plan.along, x), c);
      return;
    }
    if constexpr (std::is_integral_v<T>) {
      if (p.plan.recipe != Recipe::real) return compute<std::int32_t>(p, n, y, x, c);
    }
    compute<float>(p, n, y, x, c);
  }
};

const KernelRung<Problem, Config, Samples, Config{256}, Config{128}> rung{
    "small pictures: a thread for each sample of the result, all at once", "global"};

}  // namespace
}  // namespace tessera::resizing
