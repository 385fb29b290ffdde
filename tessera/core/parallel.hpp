// SPDX-License-Identifier: Apache-2.0
// One function on several threads at once. The threads stay: after a call they look out for the next
// one for some microseconds, and sleep only then, so that small work pays no waking.
#pragma once
#include <functional>

namespace tessera {

// Calls work(0) … work(parts - 1), each on a thread of its own, the last on the caller's; returns when
// all have returned. What the first of them threw is thrown here. Calls from several threads take
// turns; a call from inside `work` runs its parts one after another.
void parallel(int parts, const std::function<void(int)>& work);

}  // namespace tessera
