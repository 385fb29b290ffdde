// SPDX-License-Identifier: Apache-2.0
// GPU rung 19: f32 operands as three bf16 components each.
//
// Three times 8 bits are all of f32's 24, and bf16 has f32's exponents: nothing is lost except by underflow.
// The six largest of nine products are added, at twice TF32's rate, so that they take as long as three TF32
// products. Everything else is as in rung 18.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(EmulatedFp32Rung<Compute::bf16x6>::variant(
    "f32 on tensor cores: each operand is three bf16 numbers, all of its bits, six products"));
[[maybe_unused]] const bool registered = (register_layouts(decomposed_first), true);

}  // namespace
}  // namespace tessera::matmul
