// SPDX-License-Identifier: Apache-2.0
// What the ranks of a run did when, told as that of a call on several devices: a rank stands where a device
// does otherwise; one of several devices has a place for each of these, and one for the panels that came to
// it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include "tessera/run/distributed.hpp"

namespace tessera::cli {

void add_timeline_of_ranks(nlohmann::ordered_json& out,
                           const DistributedOutcome& outcome);  // `parts` and `timeline`
void write_timeline_of_ranks(const std::string& path, const DistributedOutcome& outcome);  // no path: nothing

}  // namespace tessera::cli
