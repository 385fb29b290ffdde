// SPDX-License-Identifier: Apache-2.0
// Runs an operation: chooses a variant, places the arrays, launches, fetches the results, verifies them.
#pragma once
#include <map>
#include "tessera/run/place.hpp"
#include "tessera/run/verify.hpp"

namespace tessera {

struct Outcome {
  Plan plan;
  std::map<std::string, Array> outputs;  // those that the caller gave no memory for
  double kernel_seconds = 0;             // on the device
  double round_trip_seconds = 0;         // including the copies to it and back
  std::optional<Verdict> verdict;        // with `check`
  Values values;                         // values that the run reports about its result
};

// An output without memory in `host` gets its own, which this Outcome owns, so calls may be repeated. With
// `check`, outputs are poisoned before the run and verified after it. Throws Error, also if an output
// overlaps an input in memory; a wrong result is a value.
[[nodiscard]] Outcome run(const Operation& operation, const Arguments& host, const Request& request = {},
                          bool check = false);
// Runs by a plan that was chosen before.
[[nodiscard]] Outcome run_by(const Plan& plan, const Operation& operation, const Arguments& host, bool check);

}  // namespace tessera
