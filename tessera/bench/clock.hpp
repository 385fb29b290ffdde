// SPDX-License-Identifier: Apache-2.0
// The wall clock, for what a user waits for. Kernel time is Backend::seconds.
#pragma once
#include <chrono>

namespace tessera::bench {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace tessera::bench
