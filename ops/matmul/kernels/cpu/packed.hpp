// SPDX-License-Identifier: Apache-2.0
// The vectorized product of elements of 16 and 8 bits: packing of A and B converts them.
#pragma once
#include <algorithm>
#include <iterator>
#include "ops/matmul/gemm/mixed_problem.hpp"

namespace tessera::matmul {

inline constexpr Element packed_elements[] = {Element::bf16, Element::f16, Element::e4m3, Element::e5m2,
                                              Element::i8};
inline bool is_packed(Element element) {
  return std::ranges::find(packed_elements, element) != std::end(packed_elements);
}

// A problem whose C is by rows.
struct PackedProblem : MixedProblem {
  bool exchanged = false;  // transposed: scale_b is applied before scale_a
};

// The number of elements of C up to which vectors are not filled.
inline constexpr std::int64_t kFewElements = 8;
inline bool has_few_elements(const MixedProblem& p) { return p.m * p.n <= kFewElements; }

// Instructions that Highway's AVX3 does not imply.
struct DotInstructions {
  bool bf16 = false;  // AVX512-BF16: vdpbf16ps
  bool i8 = false;    // AVX512-VNNI: vpdpbusd
};
DotInstructions dot_instructions();  // this CPU's

// Computes the product on up to `threads` threads, with the best instruction set of this CPU. `dots` does not
// affect the bits.
void multiply_packed(const MixedProblem& problem, int threads,
                     const DotInstructions& dots = dot_instructions());

// Stores C from sums that are in memory, row after row: the last step of multiply_packed. Sum: float, or
// std::int32_t of i8.
template <class Sum>
void store_packed(const MixedProblem& problem, Sum* sums, int threads);

}  // namespace tessera::matmul
