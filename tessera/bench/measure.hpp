// SPDX-License-Identifier: Apache-2.0
// Measures candidates on one problem, interleaved, and verifies their results.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "tessera/bench/result.hpp"
#include "tessera/bench/sample.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/run/guard.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::bench {

struct Measuring {
  Effort effort = {};
  bool cold = false;             // flush the caches before each sample
  bool rotate = false;           // launches cycle through sets of arrays that exceed the last-level cache
  bool profile = false;          // for a profiler: plain launches and nothing else
  bool graph = false;            // capture the launches of a sample once, and launch them as one graph
  double sustained_seconds = 0;  // then run each alone, back to back, for so many seconds; 0: not
  bool verify = true;
  bool ceilings = true;  // measure the devices' ceilings that are not cached
  std::uint64_t seed = 1;
  std::function<bool()> interrupted = {};
  std::function<void(const std::string&)> progress = {};  // called with a description of each step
  std::function<std::optional<Row>(const Row& blank)> known =
      {};  // returns the earlier row with the same key
  // The number of times that each variant was found to synchronize itself, so its launches cannot be queued
  // behind a held stream. Each attempt takes seconds; after two, any tuning of it is assumed to do so.
  std::shared_ptr<std::map<const Variant*, int>> waiting = std::make_shared<std::map<const Variant*, int>>();
};

struct Candidate {
  Plan plan;
  bool serial = false;
  Reason absent = {};              // the reason why it cannot run, known beforehand; it keeps its row
  std::vector<Plan> instead = {};  // the first of these that can replaces a `plan` that refuses the problem
};

Row blank_row(const Candidate& candidate, const Operation& operation, const Case& problem,
              const Arguments& arguments);

// Records a verdict in the row; a wrong row stays wrong.
void note(Row& row, const tessera::Verdict& verdict);

// Returns one row for each candidate, in their order, then one for each sustained run; without ratios.
// Inputs are random normal; outputs are poisoned before every sample; each candidate's last result is
// verified, and so is one more with inputs that no timed run has used. A candidate that writes outside a
// buffer or to an input counts as wrong.
std::vector<Row> measure(const Operation& operation, Element element, const Case& problem,
                         const std::vector<Candidate>& candidates, const Measuring& measuring);

constexpr std::size_t guard_bytes = wide_zone;  // before and after every measured buffer

// Estimates the time of a run from smaller runs, so that a slow rung does not delay the others for an hour.
// Doubles the bound on every dimension until the time scaled by flops is below a twentieth of `limit`
// seconds, or the smaller run takes more than a fiftieth and is representative. Nothing: no smaller
// problem can run.
std::optional<double> estimate_seconds(const Operation& operation, Element element, const Case& problem,
                                       const Plan& plan, double full_flops, double limit);

}  // namespace tessera::bench
