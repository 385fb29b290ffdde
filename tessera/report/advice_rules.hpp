// SPDX-License-Identifier: Apache-2.0
// The rules that read a trace's counters; those that read times are in advice.cpp.
#pragma once
#include <vector>
#include "tessera/report/advice.hpp"
#include "tessera/report/group.hpp"

namespace tessera::report {

void trace_advice(const Group& group, std::vector<Advice>& out);

}  // namespace tessera::report
