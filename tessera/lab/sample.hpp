// SPDX-License-Identifier: Apache-2.0
// Measures candidates in turn, one sample of each per round, so that a drift of the machine (its
// clock, its temperature, a neighbour) reaches all of them alike and their ratios stay honest.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace tessera::lab {

struct Effort {
  double seconds = 10;      // the most that one candidate may take
  std::size_t samples = 0;  // wanted of each; 0: until the median has settled, see below
  // With samples = 0: at least `fewest`, and more, up to `most`, until `enough_seconds` are spent.
  std::size_t fewest = 9, most = 200;
  double enough_seconds = 0.3;
};

struct Contestant {
  std::function<double()> sample;  // one, in seconds
  std::function<void()> finished;  // after its last sample, before anybody's next
};

// Each one's samples, in rounds. A contestant leaves the rounds when its next sample would exceed
// effort.seconds, but has at least one. `interrupted` is asked before every sample; once it says so,
// what has been measured is returned.
std::vector<std::vector<double>> interleave(const std::vector<Contestant>& contestants, const Effort& effort,
                                            const std::function<bool()>& interrupted = {});

}  // namespace tessera::lab
