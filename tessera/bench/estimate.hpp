// SPDX-License-Identifier: Apache-2.0
// How long a run will take, from smaller runs, so that nobody waits an hour for a rung to prove slow.
#pragma once
#include <optional>
#include "tessera/run/choose.hpp"
#include "tessera/run/guard.hpp"

namespace tessera::bench {

constexpr std::size_t guard_bytes = wide_zone;  // before and behind every buffer that is measured

// Runs the problem with every dimension cut to ever larger sizes, until the time grown by the flops is
// well within `limit` seconds, or what it is extrapolated from takes a fiftieth of that and is long
// enough to tell. Nothing where no smaller problem does.
std::optional<double> estimate_seconds(const Operation& operation, Element element, const Case& problem,
                                       const Plan& plan, double full_flops, double limit);

}  // namespace tessera::bench
