// SPDX-License-Identifier: Apache-2.0
// A .npy file that ranks write together, each its block of a matrix, and that appears whole or not at all.
// The folder must be one that all their hosts share.
#pragma once
#include <string>
#include "tessera/core/array.hpp"
#include "tessera/run/mpi/communicator.hpp"
#include "tessera/core/division.hpp"
#include "tessera/io/atomic_file.hpp"

namespace tessera {

// All ranks call it; `block`: rows × cols, row-major, of a matrix of `extents`; `idle` ranks have none.
// Returns when the file is there. Throws SharedError, and then an old file is as it was.
void write_shared(Communicator& ranks, const std::string& path, const Extents& extents,
                  const ArrayView& block, const Interval& rows, const Interval& cols);

}  // namespace tessera
