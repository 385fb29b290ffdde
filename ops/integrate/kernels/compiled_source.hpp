// SPDX-License-Identifier: Apache-2.0
// The kernel of the rungs that compile a formula when it is typed, as text for NVRTC.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include "ops/integrate/sum/sums.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {

// What the kernel `add_strips` is given, by value; the text declares the same.
template <class T>
struct Work {
  T a, b, step, width, scale;
  std::int64_t strips, piece, each;  // a piece: strips that are added one by one; a thread has `each` of them
  T* result;
  std::uint32_t* counter;  // 0 before and after
  void* partials;          // pairs, one of a block's threads together
};

struct Compiled {
  Sum sum = Sum::pairwise;  // not exact
  bool scale_terms = false;
  bool counted = false;     // each abscissa is the one before and a step, without rounding
  bool fast_roots = false;  // within some units of the last place
  int threads = 256;        // of a block, a power of two and whole warps
  int together = 1;         // 1, 2 or 4 pieces are added side by side

  bool operator==(const Compiled&) const = default;
};

// The bits of the rung that interprets the same formula in one launch.
template <class T>
std::string source_of(const formula::Program<T>& program, const Compiled& how);

extern template std::string source_of(const formula::Program<float>&, const Compiled&);
extern template std::string source_of(const formula::Program<double>&, const Compiled&);

}  // namespace tessera::integration
