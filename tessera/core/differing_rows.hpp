// SPDX-License-Identifier: Apache-2.0
// Which rows of a result are not what another way to compute it makes of the same arguments, byte by byte:
// where every device has the same bits, these are the rows to look at.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>
#include "tessera/core/arguments.hpp"

namespace tessera {

// `output`: an array of four dimensions, whose rows count over the first two. `compute` writes it. Every row
// is named where the samples of a row do not lie side by side.
std::vector<std::int64_t> differing_rows(const Arguments& arguments, const std::string& output,
                                         const std::function<void(const Arguments&)>& compute);

}  // namespace tessera
