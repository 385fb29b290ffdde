// SPDX-License-Identifier: Apache-2.0
// Measured rows for a spreadsheet or another program: one line each, columns that keep their names.
#pragma once
#include <string>
#include "tessera/bench/result.hpp"

namespace tessera::report {

// Quoted as RFC 4180 says; what is missing is n/a, never 0.
std::string csv(const bench::Session& session);

}  // namespace tessera::report
