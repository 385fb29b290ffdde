// SPDX-License-Identifier: Apache-2.0
// What is told of the checks of a protected call's parts.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include "tessera/run/spread.hpp"

namespace tessera::cli {

void print_checks(std::FILE* to, const Together& together);    // nothing of a call that was not protected
nlohmann::ordered_json checks_json(const Together& together);  // null likewise

}  // namespace tessera::cli
