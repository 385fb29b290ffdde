// SPDX-License-Identifier: Apache-2.0
// Recorded timings in place of measured ones.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "tessera/bench/measure.hpp"

namespace tessera::made_up {

// Seconds of a configuration; not above 0: its result is wrong. Throws for what fails.
using Times = std::function<double(const Variant&, const Tuning&)>;

inline std::vector<bench::Row> measured(const Operation& operation, const Case& problem,
                                        const Arguments& arguments,
                                        const std::vector<bench::Candidate>& candidates, const Times& times) {
  std::vector<bench::Row> out;
  for (const bench::Candidate& candidate : candidates) {
    bench::Row& row = out.emplace_back(bench::blank_row(candidate, operation, problem, arguments));
    if (row.reason) continue;
    const double seconds = times(*row.variant, row.tuning);
    row.verified = seconds > 0 ? bench::Verified::ok : bench::Verified::wrong;
    row.error_over_bound = seconds > 0 ? 0.5 : 2;
    row.seconds.assign(5, seconds > 0 ? seconds : 1e-9);
  }
  return out;
}

}  // namespace tessera::made_up
