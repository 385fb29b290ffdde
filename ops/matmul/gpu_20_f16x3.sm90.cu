// SPDX-License-Identifier: Apache-2.0
// GPU rung 20: f32 operands as two f16 components each, with a scale for every 64 elements of k.
//
// f16 has TF32's 11 bits at twice its rate, but few exponents. Each promotion interval of 64 elements of a
// row therefore has a power-of-two scale that brings its maximum close to f16's; its accumulators are
// promoted to f32 with the product of both scales, exactly. The two consumer warpgroups issue wgmma
// alternately: one promotes while the other keeps the tensor cores busy. If a row spans more than f16's
// exponents, a check on the device selects bf16 components, or strict f32, instead. The limit is power.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(
    EmulatedFp32Rung<Compute::f16x3>::variant("f32 on tensor cores at f16's rate: each operand is two f16 "
                                              "numbers, with a scale for every 64 elements of k"));
[[maybe_unused]] const bool registered = (register_layouts(decomposed_first), true);

}  // namespace
}  // namespace tessera::matmul
