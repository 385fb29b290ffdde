// SPDX-License-Identifier: Apache-2.0
// One HTML file of a traced program: the source with what each line costs beside it, what is wrong, and of
// each line a drawing of the request that cost most: which lanes touch which sectors or banks. It needs no
// network, and it is the same for two traces of one program.
#pragma once
#include <string>
#include <vector>
#include "tessera/frontend/explain.hpp"
#include "tessera/report/charts.hpp"

namespace tessera::frontend {

// `files`: the program's, in the order in which they are shown; others that have accesses follow.
std::string trace_page(const Record& record, const std::vector<std::string>& files);

// The dearest request of a line; `name` must be unique on its page.
report::Chart request_chart(const LineCost& cost, const std::string& name);

}  // namespace tessera::frontend
