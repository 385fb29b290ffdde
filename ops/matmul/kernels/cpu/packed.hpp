// SPDX-License-Identifier: Apache-2.0
// The vectorized product of elements of 16 and 8 bits: packing of A and B converts them.
#pragma once
#include "ops/matmul/gemm/mixed_problem.hpp"

namespace tessera::matmul {

// Instructions that Highway's AVX3 does not imply.
struct DotInstructions {
  bool bf16 = false;  // AVX512-BF16: vdpbf16ps
  bool i8 = false;    // AVX512-VNNI: vpdpbusd
};
DotInstructions dot_instructions();  // of this CPU

// Computes the product on up to `threads` threads, with the best instruction set of this CPU. Neither that
// nor `dots` affects the bits of bf16 and i8.
void multiply_packed(const MixedProblem& problem, int threads,
                     const DotInstructions& dots = dot_instructions());

}  // namespace tessera::matmul
