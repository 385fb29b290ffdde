// SPDX-License-Identifier: Apache-2.0
// What `tune` says of a search, as text and as JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include "tessera/tune/predict.hpp"
#include "tessera/tune/tuner.hpp"

namespace tessera::cli {

std::string text_of(const tune::Outcome& outcome, const tune::Space& space, const std::string& search,
                    const tune::Counter::Totals& counted);
// What was decided, and from what.
nlohmann::ordered_json json_of(const tune::Outcome& outcome, const tune::Space& space,
                               const tune::Counter::Totals& counted);
// A trial's row with what was predicted of it.
nlohmann::ordered_json json_of(const tune::Trial& trial);

}  // namespace tessera::cli
