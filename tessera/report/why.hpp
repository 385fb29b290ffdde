// SPDX-License-Identifier: Apache-2.0
// Two rungs' counters, one subtracted from the other and put into words.
#pragma once
#include <string>
#include "tessera/bench/trace_result.hpp"

namespace tessera::report {

// Why `after` may be faster or slower than `before`: what of their traces differs, a line each.
std::string why(const bench::Traced& before, const bench::Traced& after);

}  // namespace tessera::report
