// SPDX-License-Identifier: Apache-2.0
// CPU rung 2, beside the ordered loops: GPU rung 18's arithmetic, step by step.
//
// Each operand is decomposed into two TF32 numbers; three of the four products of parts are added the way
// tensor cores add, and every 64 products the sum is promoted to f32.
#include "ops/matmul/emulated_fp32/emulated_fp32_loops.hpp"

namespace tessera::matmul {
namespace {

const Rung rung{"f32 by three products of TF32 parts, as tensor cores sum them",
                Where::cpu,
                {emulated_choice<Compute::tf32x3>()}};

}  // namespace
}  // namespace tessera::matmul
