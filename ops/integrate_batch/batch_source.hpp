// SPDX-License-Identifier: Apache-2.0
// The kernels of the rung that compiles a formula when it is typed, as text for NVRTC.
#pragma once
#include <string>
#include "batch_options.hpp"

namespace tessera::integrate_batch {

struct Compiled {
  int cells = 16;     // of an integral that one thread keeps for itself; 0: none does
  int threads = 128;  // of a block of such threads
  int resident = 1;   // of such blocks, that registers are to suffice for on a multiprocessor
  int warps = 4;      // of a block whose warps take an integral each
};

// What the kernels are given beside Work, by value; the text declares the same.
struct Spare {
  unsigned* counters;
  unsigned* waiting;
  char* memory;
  int cells;
};

// The kernels `each_alone` and `together`. The bits of the rungs that interpret the same formula.
std::string source_of(const BatchOptions& options, const Compiled& how);

}  // namespace tessera::integrate_batch
