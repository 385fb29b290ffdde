// SPDX-License-Identifier: Apache-2.0
// CUDA source text, for NVRTC, of the kernels that are compiled with their formula: sums of strips, regions
// and VEGAS samples.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include "ops/integrate/sum/sums.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {

// --- the kernel `add_strips` ---

// The kernel's parameter, passed by value; the source text declares the same struct.
template <class T>
struct Work {
  T a, b, step, width, scale;
  std::int64_t strips, piece, each;  // piece: strips that are added one by one; each: pieces per thread
  T* result;
  std::uint32_t* counter;  // 0 before and after a launch
  void* partials;          // pairs, one for all threads of a block
};

struct Compiled {
  Sum sum = Sum::pairwise;  // never exact
  bool scale_terms = false;
  bool counted = false;     // adding a step to an abscissa gives the next one without rounding
  bool fast_roots = false;  // roots within a few ulp
  int threads = 256;        // per block; a power of two, full warps
  int together = 1;         // pieces added side by side: 1, 2 or 4

  bool operator==(const Compiled&) const = default;
};

// Returns kernels whose results are bitwise identical to those of the rung that interprets the formula in one
// launch.
template <class T>
std::string source_of(const formula::Program<T>& program, const Compiled& how);

extern template std::string source_of(const formula::Program<float>&, const Compiled&);
extern template std::string source_of(const formula::Program<double>&, const Compiled&);

// --- the kernel `estimate_regions`: it takes a RegionFrame by value, and is launched in blocks of
// `compiled_region_threads` ---

inline constexpr int compiled_region_threads = 128;

struct CompiledRegions {
  bool plain = false;   // no axis has a map: all slopes are 1 and are not computed
  int residents = 4;    // minimum of resident blocks per multiprocessor, for the launch bounds
  int unroll = 1;       // the number of innermost loops over corners that are unrolled
  bool native = false;  // CUDA's elementary functions, within 2 ulp, instead of the formula's own
};

std::string region_source_of(const formula::Program<double>& program, const CompiledRegions& how);

// --- the sampling kernel of VEGAS ---

inline constexpr int compiled_vegas_threads = 128;

// The kernel `vegas_sample` takes a VegasPlan, VegasTasks, and the addresses of edges, axes, sums, cubes of
// tasks, weights and holes. Its results are bitwise identical to those of the interpreting kernel.
std::string vegas_source_of(const formula::Program<double>& program, int threads = compiled_vegas_threads);

}  // namespace tessera::integration
