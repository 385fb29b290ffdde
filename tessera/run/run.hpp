// SPDX-License-Identifier: Apache-2.0
// From a problem to an answer: choose, place, run, fetch, verify.
#pragma once
#include <map>
#include "tessera/run/place.hpp"
#include "tessera/run/verify.hpp"

namespace tessera {

struct Outcome {
  Plan plan;
  std::map<std::string, Array> outputs;  // those that the arguments had no memory for
  double kernel_seconds = 0;             // on the device
  double round_trip_seconds = 0;         // with the copies to it and back
  std::optional<Verdict> verdict;        // with `check`
  Values values;                         // what the run tells of its result
};

// An output that has no memory in `host` gets its own, which this Outcome owns: calls may be repeated. With
// `check`, outputs are poisoned before the run and verified after it. Throws Error, also where an output
// overlaps an input in memory; a wrong result is a value.
[[nodiscard]] Outcome run(const Operation& operation, const Arguments& host, const Request& request = {},
                          bool check = false);
// The same by a plan that was chosen before.
[[nodiscard]] Outcome run_by(const Plan& plan, const Operation& operation, const Arguments& host, bool check);

}  // namespace tessera
