// SPDX-License-Identifier: Apache-2.0
// Traces as named numbers and as JSON; tables and files are made from these.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "tessera/bench/trace.hpp"

namespace tessera::bench {

// "global_load.sectors_per_request" → 2.5, in the order of the tables; nothing: it has no meaning here.
using Counters = std::vector<std::pair<std::string, std::optional<double>>>;
Counters counters_of(const Traced& traced);
// Of one place, under names without the first part: "sectors".
Counters counters_of(const simt::AccessCounts& counts, simt::Space space);
std::string name_of(simt::Space space, simt::Act act);  // "global_load"

struct TraceSession {
  std::vector<std::string> argv;
  std::string operation, date;
  std::uint64_t seed = 0;
  std::vector<Traced> rows;
};
nlohmann::ordered_json to_json(const TraceSession& session);

}  // namespace tessera::bench
