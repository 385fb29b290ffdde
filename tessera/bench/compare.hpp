// SPDX-License-Identifier: Apache-2.0
// Decides if times became faster or slower between two documents, where the samples suffice. A time's
// interval is from its minimum to its upper quartile: disturbances only make a run longer, so the lower end
// is the more reliable one. On a busy machine it ends at the 90th percentile, and begins lower
// where this side was disturbed more than the other one.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::bench {

enum class Change {
  same,    // the medians differ by no more than the threshold, and their errors do not exceed it
  faster,  // by more, with disjoint intervals, also in clock cycles if clocks are known
  slower,
  ambiguous,  // the samples do not decide; `why` gives the reason
  gone,       // only in the document before
  added,      // only in the document now
  wrong,      // now with a wrong result
};
std::string_view name_of(Change change);

struct Pair {
  const Record *before = nullptr, *now = nullptr;  // null: that document has no such record
  Change change = Change::ambiguous;
  std::optional<double> times_faster = {}, times_fewer_cycles = {};  // before / now, of the medians
  std::string why = {};
};

struct Judging {
  double threshold = 0.005;  // relative; smaller differences count as none
  std::size_t fewest = 5;    // number of samples that show their noise
  double clearly = 1.5;      // minimum ratio between the intervals of fewer samples
  double plainly = 10;       // and to a single sample
};

// Minimum share of the CPU used by other programs at which a machine is busy.
inline constexpr double quiet_load = 0.05;

struct Samples {
  std::vector<double> seconds;
  double other_load = 0;  // share of the CPU used by other programs; 0: a GPU's time, or unknown
  Samples(std::vector<double> samples, double load = 0) : seconds(std::move(samples)), other_load(load) {}
};
Samples samples_of(const Row& row);
Samples samples_of(const Record& record);

// Returns the relative range of the medians of consecutive fifths of the samples; 0: too few samples.
double between_repeats(const std::vector<double>& samples);

struct Verdict {
  Change change = Change::ambiguous;
  std::string why = {};
};
// Judges by the times alone: for interleaved samples, whose clocks differ only because of the candidates.
Verdict judge(const Samples& before, const Samples& now, const Judging& judging = {});
// Returns the median of `before` over that of `now`; NaN if judge() gives no verdict.
double judged_ratio(const Samples& before, const Samples& now);
// Also gives no verdict if the numbers of cycles do not confirm it.
Pair judge(const Record& before, const Record& now, const Judging& judging = {});

// Pairs every record of either document once, in the order of `now`, then those that are gone. Records match
// by problem, element, variant, tuning, mode, device name and threads.
std::vector<Pair> compare(const Document& before, const Document& now, const Judging& judging = {});

// Returns the reason why times of the two cannot be compared (different operation, machine, data or cache
// state), or nothing.
std::optional<std::string> incomparable(const Document& before, const Document& now);

}  // namespace tessera::bench
