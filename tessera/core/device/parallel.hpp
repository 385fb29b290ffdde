// SPDX-License-Identifier: Apache-2.0
// Runs one function on several threads at once. The threads persist: after a call they spin for some
// microseconds before they sleep, so that small work needs no wake-up.
#pragma once
#include <cstdint>
#include <functional>
#include "tessera/core/text/error.hpp"

namespace tessera {

// Calls work(0) … work(parts - 1), each on a thread of its own, the last on the caller's, which then runs
// those that have not begun; returns when all have returned. Rethrows the first exception. Calls from several
// threads take turns; a call from inside `work` runs its parts one after another. Throws Error if the system
// gives fewer threads.
void parallel(int parts, const std::function<void(int)>& work);

// True for some milliseconds after a call that waited for another thread longer than its caller worked: that
// thread shares its processor, and losing it takes longer than a small part does. Work of less than a
// millisecond then takes less time on one thread.
bool is_contended();

// Returns the Error for a system that refuses one of `wanted` threads.
Error no_more_threads(std::int64_t wanted);

}  // namespace tessera
