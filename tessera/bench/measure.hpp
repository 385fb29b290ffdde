// SPDX-License-Identifier: Apache-2.0
// Measures candidates on one problem, interleaved, and verifies what they computed.
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
  bool rotate = false;           // each launch takes the next of sets that exceed the last-level cache
  bool profile = false;          // launch plainly, and nothing besides: a profiler looks on
  bool graph = false;            // note the launches of a sample once, and launch them as one graph
  double sustained_seconds = 0;  // then each alone, run after run, for as long; 0: not
  bool verify = true;
  bool ceilings = true;  // measure those of the devices, where they are not known yet
  std::uint64_t seed = 1;
  std::function<bool()> interrupted = {};
  std::function<void(const std::string&)> progress = {};  // told what is being done
  std::function<std::optional<Row>(const Row& blank)> known =
      {};  // what was measured before, for a row's key
  // How often variants were found to wait for the device themselves. To find out takes seconds: what did so
  // twice does so whatever its tuning.
  std::shared_ptr<std::map<const Variant*, int>> waiting = std::make_shared<std::map<const Variant*, int>>();
};

struct Candidate {
  Plan plan;
  bool serial = false;
  Reason absent = {};              // known beforehand to be unable to run; it keeps its row
  std::vector<Plan> instead = {};  // one of these, the first that can, where `plan` refuses the problem
};

// A candidate's row before anything is measured.
Row blank_row(const Candidate& candidate, const Operation& operation, const Case& problem,
              const Arguments& arguments);

// What a check found; a row that was wrong once stays wrong.
void note(Row& row, const tessera::Verdict& verdict);

// One row for each candidate, in their order, then one for each that was sustained; without ratios. Inputs
// are random normal; outputs are poisoned before every sample; each candidate's last result is verified,
// and once more with inputs that no timed run has seen. A write outside a buffer or to an input makes a
// candidate wrong.
std::vector<Row> measure(const Operation& operation, Element element, const Case& problem,
                         const std::vector<Candidate>& candidates, const Measuring& measuring);

// Estimates how long a run will take from smaller runs, so that a slow rung does not hold up the others for
// an hour.

constexpr std::size_t guard_bytes = wide_zone;  // before and behind every buffer that is measured

// Runs the problem with every dimension cut to ever larger sizes, until the time grown by the flops is
// well within `limit` seconds, or what it is extrapolated from takes a fiftieth of that and is long
// enough to tell. Nothing where no smaller problem does.
std::optional<double> estimate_seconds(const Operation& operation, Element element, const Case& problem,
                                       const Plan& plan, double full_flops, double limit);

}  // namespace tessera::bench
