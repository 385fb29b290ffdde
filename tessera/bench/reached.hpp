// SPDX-License-Identifier: Apache-2.0
// A rate that processors reached, and whether something else had them meanwhile.
#pragma once
#include <functional>

namespace tessera::bench {

struct Reached {
  double rate = 0;  // of work, in units a second
  double waited =
      0;  // 0 to 1: the share of the time in which the thread that worked longest had no processor
};

double thread_seconds();  // the processor time that this thread has had

// work(part), of `units` in all, on as many threads at once. What a thread waited is the wall clock's time
// less its own processor time, so whatever takes the processors away shows, also where the machine tells
// nothing of its load.
Reached reach(int threads, double units, const std::function<void(int)>& work);

// The best of several short runs: what can be reached, not what a busy machine leaves. At least `fewest`,
// then until the best has stood for as many, and no more than `most`.
Reached best_of(int fewest, int most, const std::function<Reached()>& run);

}  // namespace tessera::bench
