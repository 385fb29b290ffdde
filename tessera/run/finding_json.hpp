// SPDX-License-Identifier: Apache-2.0
// A Finding on its way from the process that made it, and into results.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include "tessera/run/finding.hpp"

namespace tessera {

nlohmann::ordered_json to_json(const Finding& finding);
Finding finding_of(const nlohmann::ordered_json& json);

}  // namespace tessera
