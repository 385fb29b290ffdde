// SPDX-License-Identifier: Apache-2.0
// What repeated measurements say. Medians and quartiles: one interrupted sample moves neither.
#pragma once
#include <chrono>
#include <cstddef>
#include <vector>

namespace tessera::bench {

struct Summary {
  double median = 0, q1 = 0, q3 = 0, minimum = 0;
  std::size_t count = 0;
  // Half the distance between the quartiles, relative to the median.
  double spread() const { return median > 0 ? (q3 - q1) / (2 * median) : 0; }
};

// Quantiles interpolate linearly between order statistics. Throws Error when there is no sample.
Summary summarize(std::vector<double> samples);

// At most `most` of the samples, evenly chosen, the first and the last among them.
std::vector<double> thinned(const std::vector<double>& samples, std::size_t most);

// The wall clock, for what a user waits for. Kernel time is Backend::seconds.

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace tessera::bench
