// SPDX-License-Identifier: Apache-2.0
// CPU rung 2, beside the ordered loops: GPU rung 19's arithmetic, step by step.
//
// Each operand is the sum of three bf16; the six largest of the nine products of parts are added the way
// tensor cores add, and every 64 products the sum is promoted to f32.
#include "ops/matmul/emulated_fp32/emulated_fp32_loops.hpp"

namespace tessera::matmul {
namespace {

const Rung rung{"f32 by six products of bf16 parts, as tensor cores sum them",
                Where::cpu,
                {emulated_choice<Compute::bf16x6>()}};

}  // namespace
}  // namespace tessera::matmul
