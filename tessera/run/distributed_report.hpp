// SPDX-License-Identifier: Apache-2.0
// What a rank tells rank 0 at the end, as bytes.
#pragma once
#include <string>
#include "tessera/run/distributed.hpp"

namespace tessera {

std::string to_bytes(const RankReport& report, const std::optional<Verdict>& verdict);
// Adds what one rank has told: a line of ranks, and its verdict to that of all.
void add_report(const std::string& bytes, DistributedOutcome& outcome);

}  // namespace tessera
