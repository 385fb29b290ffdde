// SPDX-License-Identifier: Apache-2.0
// How the rungs of a ladder read inputs by their order in memory, as a table and as JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include "tessera/core/operation.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::cli {

// Empty where no rung of those that are here states it.
std::string intake_table(const Operation& operation);
// Of one rung: null where it states nothing.
nlohmann::ordered_json json_of_intakes(const Operation& operation, const Variant& variant);

}  // namespace tessera::cli
