// SPDX-License-Identifier: Apache-2.0
// Runs a grid on the processors of this machine: blocks are dealt out to OS threads, each of which
// runs one block at a time.
#pragma once
#include "tessera/simt/task.hpp"

namespace tessera::simt {

// Returns when every block has run. Throws Error with kernel, block and thread for what a kernel
// did wrong, and OutOfTime after the seconds Allowed; the other OS threads then stop after the
// block they are in.
void execute(const Task& task, int os_threads);

}  // namespace tessera::simt
