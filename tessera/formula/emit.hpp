// SPDX-License-Identifier: Apache-2.0
// A formula as source text for NVRTC or any C++ compiler.
#pragma once
#include <string>
#include <string_view>
#include "tessera/formula/program.hpp"

namespace tessera::formula {

// Returns the elementary functions, in namespace `formula`, for __device__ code: the same text that this
// library is compiled from. It includes no headers. Place it before any text of source_of(). Compile with
// -fmad=false; the IEEE division, square roots and subnormals that it also needs are NVRTC's defaults.
std::string_view elementary_source();

// For kernels: sqrt_rn_fast() and sqrt_approx_fast(), square roots that look for special numbers together,
// and atomic_inc_acq_rel(), by which blocks count each other.
std::string_view kernel_source();

// `static __device__ R NAME(R x0, R x1, …)` with the inputs in the program's order; R is double or float, and
// so is every literal. Its results are bitwise identical to the program's. `root` is the function called for
// square roots: one of the caller's may trade accuracy for speed. `watched`: NAME has one more parameter,
// `unsigned& max_key`, that each root is handed too.
template <class T>
std::string source_of(const Program<T>& program, std::string_view name,
                      std::string_view root = "formula::root", bool watched = false);

extern template std::string source_of(const Program<float>&, std::string_view, std::string_view, bool);
extern template std::string source_of(const Program<double>&, std::string_view, std::string_view, bool);

}  // namespace tessera::formula
