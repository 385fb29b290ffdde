// SPDX-License-Identifier: Apache-2.0
// A run that several devices shared: what its file says of it, and the drawing of who did what when.
#pragma once
#include <string>
#include <vector>
#include "tessera/report/chart.hpp"
#include "tessera/report/fields.hpp"

namespace tessera::report {

// Throws Error, which names the file, for activities of devices that it does not hold, or that end before
// they begin.
std::vector<SharedDevice> read_shared(const std::string& file, const Fields& fields);

// A lane for each thing that a device did, and one for its waiting.
Chart timeline_chart(const Document& document);
std::string timeline_sentence(const Document& document);  // who waited longest

}  // namespace tessera::report
