// SPDX-License-Identifier: Apache-2.0
// One HTML file of a traced program: the source with each line's cost, the findings, and a drawing of each
// line's most expensive request, the lanes and the sectors or banks that they touch. It needs no network, and
// two traces of one program give the same page.
#pragma once
#include <string>
#include <vector>
#include "tessera/frontend/explain/explain.hpp"
#include "tessera/report/charts.hpp"

namespace tessera::frontend {

// `files`: the program's, in the order in which they are shown; others that have accesses follow.
std::string trace_page(const Record& record, const std::vector<std::string>& files);

// Returns the most expensive request of a line; `name` must be unique on its page.
report::Chart request_chart(const LineCost& cost, const std::string& name);

// Returns a drawing of the costliest request of all; of equal ones, that of the line with the most requests.
// Throws Error if no request is known.
std::string costliest_svg(const std::vector<LineCost>& costs);

}  // namespace tessera::frontend
