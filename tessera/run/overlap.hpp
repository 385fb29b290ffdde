// SPDX-License-Identifier: Apache-2.0
// Whether two arrays share memory: an output that lies where an input does would be read after it is
// written, or poisoned before it is read.
#pragma once
#include "tessera/core/arguments.hpp"

namespace tessera {

// Exact where the elements of each innermost row lie next to each other; else a row counts as a whole.
// Parts of one matrix that lie side by side do not overlap.
bool overlap(const ArrayView& a, const ArrayView& b);

// Throws Error where an output shares memory with an input or with another output. `in_place` may lie exactly
// where the output does, element on element.
void refuse_overlaps(const Arguments& host, const std::string& in_place = {});

}  // namespace tessera
