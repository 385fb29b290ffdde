// SPDX-License-Identifier: Apache-2.0
// What the lanes of a warp give each other once all that are named have come.
#pragma once
#include <span>
#include "tessera/simt/block.hpp"

namespace tessera::simt {

// `lanes` are the warp's threads; those in `named` have each brought a value for `what`.
void give_results(std::span<ThreadState> lanes, std::uint32_t named, Meeting what);

}  // namespace tessera::simt
