// SPDX-License-Identifier: Apache-2.0
// CPU rung 2, beside the ordered loops: GPU rung 20's arithmetic, step by step.
//
// Each operand is decomposed into two f16, with a scale for each chunk of 64 along k of a line; three of the
// four products of parts are added the way tensor cores add, and after each chunk the sum is promoted to f32.
#include "ops/matmul/emulated_fp32/emulated_fp32_loops.hpp"

namespace tessera::matmul {
namespace {

const Rung rung{"f32 by three products of scaled f16 parts, as tensor cores sum them",
                Where::cpu,
                {emulated_choice<Compute::f16x3>()}};

}  // namespace
}  // namespace tessera::matmul
