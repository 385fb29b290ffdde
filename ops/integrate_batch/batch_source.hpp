// SPDX-License-Identifier: Apache-2.0
// The kernels of the rung that compiles a formula at run time, as text for NVRTC.
#pragma once
#include <string>
#include "batch_options.hpp"

namespace tessera::integrate_batch {

struct Compiled {
  int cells = 16;     // cells of an integral that one thread holds; 0: warps take all integrals
  int threads = 128;  // threads per block of that kernel
  int resident = 1;   // its resident blocks per multiprocessor that registers must allow
  int warps = 4;      // warps per block of the kernel with one integral per warp
};

// The kernels' argument after Work, by value; kernels-inl.h declares the same type.
struct Spare {
  unsigned* counters;
  unsigned* waiting;
  char* memory;
  int cells;
};

// Returns the source of the kernels `each_alone` and `together`. Their results are bitwise identical to those
// of the rungs that interpret the formula.
std::string source_of(const BatchOptions& options, const Compiled& how);

}  // namespace tessera::integrate_batch
