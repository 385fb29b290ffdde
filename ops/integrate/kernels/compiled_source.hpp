// SPDX-License-Identifier: Apache-2.0
// The kernels of the rungs that compile a formula when it is typed, as text for NVRTC: sums of strips,
// regions and VEGAS's samples.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include "ops/integrate/sum/sums.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {

// --- the kernel `add_strips` ---

// What it is given, by value; the text declares the same.
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

// --- the kernel `estimate_regions`: it takes a RegionFrame by value, and is launched in blocks of
// `compiled_region_threads` ---

inline constexpr int compiled_region_threads = 128;

struct CompiledRegions {
  bool plain = false;  // no axis has a map: slopes are 1, and nothing is computed for them
  int residents = 4;   // blocks that a multiprocessor must have registers for
  int unroll = 1;      // so many of the innermost loops over corners
  bool native =
      false;  // CUDA's elementary functions, within 2 units of the last place, in place of the formula's own
};

std::string region_source_of(const formula::Program<double>& program, const CompiledRegions& how);

// --- the kernel that samples for VEGAS ---

inline constexpr int compiled_vegas_threads = 128;

// `vegas_sample`, of a VegasPlan, VegasTasks, and the addresses of edges, axes, sums and cubes of tasks,
// weights and holes. The bits of the kernel that interprets.
std::string vegas_source_of(const formula::Program<double>& program, int threads = compiled_vegas_threads);

}  // namespace tessera::integration
