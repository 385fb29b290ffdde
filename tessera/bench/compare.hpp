// SPDX-License-Identifier: Apache-2.0
// Decides if times became faster or slower between two documents, where the samples suffice. A time's
// interval is from its minimum to its upper quartile: disturbances only make a run longer, so the lower end
// is the more reliable one.
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
  std::size_t fewest = 5;    // minimum number of samples for a verdict
};

// Maximum share of the CPU used by other programs at which times on it are judged.
inline constexpr double quiet_load = 0.05;
// Returns the relative range of the medians of consecutive fifths of the samples; 0: too few samples.
double between_repeats(const std::vector<double>& samples);

struct Verdict {
  Change change = Change::ambiguous;
  std::string why = {};
};
// Judges by the times alone: for interleaved samples, whose clocks differ only because of the candidates.
Verdict judge(const std::vector<double>& before, const std::vector<double>& now, const Judging& judging = {});
// Also gives no verdict if a machine was not quiet, or if repeats differ by as much.
Pair judge(const Record& before, const Record& now, const Judging& judging = {});

// Pairs every record of either document once, in the order of `now`, then those that are gone. Records match
// by problem, element, variant, tuning, mode, device name and threads.
std::vector<Pair> compare(const Document& before, const Document& now, const Judging& judging = {});

// Returns the reason why times of the two cannot be compared (different operation, machine, data or cache
// state), or nothing.
std::optional<std::string> incomparable(const Document& before, const Document& now);

}  // namespace tessera::bench
