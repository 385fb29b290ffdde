// SPDX-License-Identifier: Apache-2.0
// Sentences about threads that wait for each other in vain.
#pragma once
#include <span>
#include <string>
#include "tessera/simt/executor/block.hpp"

namespace tessera::simt {

// Where every thread of a stuck block stands: "threads 0-15 wait at x.simt.cu:40 (sync), …".
std::string waits_in_vain(std::span<const ThreadState> threads);
// The same of a barrier that some threads pass after others returned.
std::string leaves_out(std::span<const ThreadState> threads);
std::string misses_lane(const ThreadState& waiting, const ThreadState& gone);
std::string misses_itself(const ThreadState& thread);
// Why a thread was stopped, and what comes after saying which.
std::string describe(const Stop& stop);
std::string hint(const Stop& stop);
// Of a launch that was stopped by its clock.
std::exception_ptr out_of_time(const Task& task, double seconds_allowed);

}  // namespace tessera::simt
