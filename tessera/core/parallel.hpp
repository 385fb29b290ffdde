// SPDX-License-Identifier: Apache-2.0
// One function on several threads at once. The threads stay: after a call they look out for the next
// one for some microseconds, and sleep only then, so that small work pays no waking.
#pragma once
#include <cstdint>
#include <functional>
#include "tessera/core/error.hpp"

namespace tessera {

// Calls work(0) … work(parts - 1), each on a thread of its own, the last on the caller's; returns when
// all have returned. What the first of them threw is thrown here. Calls from several threads take
// turns; a call from inside `work` runs its parts one after another. Throws Error where the system gives
// fewer threads.
void parallel(int parts, const std::function<void(int)>& work);

// What to throw when the system refuses one of `wanted` threads.
Error no_more_threads(std::int64_t wanted);

}  // namespace tessera
