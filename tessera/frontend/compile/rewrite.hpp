// SPDX-License-Identifier: Apache-2.0
// Rewrites a CUDA file, preprocessed by g++ -E, to C++ that g++ compiles against tessera_cuda.h.
//
//   k<T><<<g, b>>>(x)               (tessera_cuda::configure(g, b), k<T>(x))
//   __global__ void k(P) { … }      void k(P) { tessera_cuda::kernel("k", [=]() mutable { … }); }
//   __shared__ float a[N];          struct S { float a[N]; }; auto& a = tessera_cuda::shared("a", &S::a);
//   extern __shared__ float s[];    float* s = tessera_cuda::dynamic_shared("s");
//   threadIdx.x in a device body    tessera_cuda::thread_index().x
//   atomicAdd(p, 1);                atomicAdd(p, 1), tessera_cuda::result_is_unused();
//   __constant__ float c[N];        float c[N]; static const tessera_cuda::Variable …("c", c, …);
//
// Every token of the file keeps its line and column: a line marker and blanks follow inserted text. Code that
// is not understood is refused. Nothing is guessed.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "tessera/frontend/compile/tokens.hpp"

namespace tessera::frontend {

// A constant, variable or macro whose initial value is replaced.
struct Replacement {
  std::string name, value;
  int times = 0;  // replacements made
};

// Throws Refusal.
std::string rewrite(std::string_view preprocessed, std::vector<Replacement>* replacements = nullptr,
                    const ReadFile& read = read_source);

// Replaces the values of macros "#define NAME value" in a file's source text.
std::string replace_macros(std::string source, std::vector<Replacement>& replacements);

// Merges the two texts of a file that tests __CUDA_ARCH__, preprocessed without it for the host and with it
// for the device. Bodies of device functions come from the second text, other functions from the first; a
// function for both has both bodies. Throws Refusal if a declaration outside of functions differs, except for
// device functions.
std::string merge_passes(std::string_view host, std::string_view device, const ReadFile& read = read_source);

}  // namespace tessera::frontend
