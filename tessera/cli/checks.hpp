// SPDX-License-Identifier: Apache-2.0
// What is told of the checks of a protected call's parts.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdio>
#include <string>
#include "tessera/run/checks.hpp"

namespace tessera::cli {

Checks checks_of(const Together& together);
// Each line begins with `whose`. Nothing of a call that was not protected.
void print_checks(std::FILE* to, const Checks& checks, const std::string& whose = "");
nlohmann::ordered_json checks_json(const Checks& checks);  // null likewise

}  // namespace tessera::cli
