// SPDX-License-Identifier: Apache-2.0
// Says whether something became faster or slower between two documents, only where the samples show it. A
// time's interval goes from its minimum to its upper quartile: disturbances only make a run longer, so the
// lower end is the more trustworthy one.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"

namespace tessera::bench {

enum class Change {
  same,    // the medians differ by no more than the threshold, and are known that well
  faster,  // by more, the intervals lie apart, and so they do in clock cycles where clocks are known
  slower,
  ambiguous,  // by more, but the samples do not settle it; `why` says what is missing
  gone,       // measured then, not now
  added,      // measured now, not then
  wrong,      // measured now, with a wrong result
};
std::string_view name_of(Change change);

struct Pair {
  const Record *before = nullptr, *now = nullptr;  // null: it has none
  Change change = Change::ambiguous;
  std::optional<double> times_faster = {}, times_fewer_cycles = {};  // before / now, of the medians
  std::string why = {};
};

struct Judging {
  double threshold = 0.005;  // relative; a smaller difference is none
  std::size_t fewest = 5;    // samples that a verdict needs
};

// More of the processors than this, for other programs, and times on them are not judged.
inline constexpr double quiet_load = 0.05;
// How far apart the medians of repeats lie, relative: samples that follow each other, a fifth of all each.
// 0: too few to tell.
double between_repeats(const std::vector<double>& samples);

struct Verdict {
  Change change = Change::ambiguous;
  std::string why = {};
};
// By the times alone, as it is right for what was measured in turn: there a clock that differs is the
// candidate's own doing.
Verdict judge(const std::vector<double>& before, const std::vector<double>& now, const Judging& judging = {});
// Beyond that no verdict where a machine was not quiet, and none on a difference that repeats show, too.
Pair judge(const Record& before, const Record& now, const Judging& judging = {});

// Every record of either document once, in the order of `now`, then what is gone. Records meet by
// problem, element, variant, tuning, mode, device name and threads.
std::vector<Pair> compare(const Document& before, const Document& now, const Judging& judging = {});

// Why times of the two cannot be set against each other: another operation, machine, data or cache
// state. Nothing: they can.
std::optional<std::string> incomparable(const Document& before, const Document& now);

}  // namespace tessera::bench
