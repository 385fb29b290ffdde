// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/reached.hpp"
#include <algorithm>
#include <ctime>
#include <vector>
#include "tessera/core/parallel.hpp"
#include "tessera/bench/clock.hpp"

namespace tessera::bench {

double thread_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Reached reach(int threads, double units, const std::function<void(int)>& work) {
  std::vector<double> busy(static_cast<std::size_t>(std::max(1, threads)));
  const Stopwatch watch;
  parallel(static_cast<int>(busy.size()), [&](int part) {
    const double before = thread_seconds();
    work(part);
    busy[static_cast<std::size_t>(part)] = thread_seconds() - before;
  });
  const double seconds = watch.seconds();
  return {units / seconds, std::clamp(1 - std::ranges::max(busy) / seconds, 0.0, 1.0)};
}

Reached best_of(int fewest, int most, const std::function<Reached()>& run) {
  constexpr double better = 1.005;
  Reached best;
  for (int made = 0, stood = 0; made < most && stood < fewest; ++made) {
    const Reached now = run();
    stood = now.rate > better * best.rate ? 0 : stood + 1;
    if (now.rate > best.rate) best = now;
  }
  return best;
}

}  // namespace tessera::bench
