// SPDX-License-Identifier: Apache-2.0
// The kernel of the rungs that compile a formula when it is typed, as text for NVRTC.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include "sums.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {

// What the kernel `add_strips` is given, by value; the text declares the same.
template <class T>
struct Work {
  T a, b, step, width, scale;
  std::int64_t strips, runs, each;  // of `each` strips, where the order is fixed
  T* result;
  std::uint32_t* counter;  // 0 before and after
  void* partials;          // pairs
};

struct Compiled {
  Sum sum = Sum::pairwise;  // not exact
  bool scale_terms = false;
  int threads = 256;                        // of a block, whole warps
  int leaves = 1;                           // 1, 2 or 4 of a run are one piece of straight code
  std::string_view root = "formula::root";  // what computes square roots: this, or fast_root
};

// The bits of the rung that interprets the same formula in one launch.
template <class T>
std::string source_of(const formula::Program<T>& program, const Compiled& how);

extern template std::string source_of(const formula::Program<float>&, const Compiled&);
extern template std::string source_of(const formula::Program<double>&, const Compiled&);

}  // namespace tessera::integration
