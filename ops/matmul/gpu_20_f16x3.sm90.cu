// SPDX-License-Identifier: Apache-2.0
// GPU rung 20: f32 factors as two f16 numbers each, with a scale for each 64 steps of k.
//
// f16 has TF32's 11 bits at twice its rate, but few exponents. So each line's 64 steps of k have a power of
// two of their own that brings the largest to f16's largest; sums of 64 k are promoted to f32 with the
// product of both scales, exactly. The two warpgroups ask for their products in turn: one promotes while the
// other's keep the tensor cores busy. Where a line spans more than f16's exponents, strict f32 is computed
// instead, as a verdict on the device says. What limits it: power.
#include "ops/matmul/kernels/hopper/emulated_fp32_launch.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(EmulatedFp32Rung<Compute::f16x3>::variant(
    "f32 on tensor cores at f16's rate: each factor is two f16 numbers, each 64 k have their own scale"));
[[maybe_unused]] const bool registered = (register_layouts(decomposed_first), true);

}  // namespace
}  // namespace tessera::matmul
