// SPDX-License-Identifier: Apache-2.0
// Sentences about threads that wait for each other in vain.
#pragma once
#include <span>
#include <string>
#include "tessera/simt/block.hpp"

namespace tessera::simt {

// Where every thread of a stuck block stands: "threads 0-15 wait at x.simt.cu:40 (sync), …".
std::string waits_in_vain(std::span<const ThreadState> threads);
std::string misses_lane(const ThreadState& waiting, const ThreadState& gone);
std::string misses_itself(const ThreadState& thread);

}  // namespace tessera::simt
