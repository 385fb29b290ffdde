// SPDX-License-Identifier: Apache-2.0
// GPU rung 18: f32 factors as two TF32 numbers each.
//
// What TF32's 11 bits leave of a factor is a second TF32 number. Three of the four products of two such pairs
// are multiplied and added; the fourth is beyond f32's last bit. A pass writes both parts of 16 steps of k
// beside each other, whatever way the operand lay, so that the kernel of rung 16 copies and swizzles them as
// it does TF32. The tensor cores cut their sums short: those of each 32 k are promoted to f32. Where parts
// leave f32's range, strict f32 is computed instead, as a verdict on the device says. What limits it: power.
#include "ops/matmul/kernels/hopper/emulated_fp32_launch.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(EmulatedFp32Rung<Compute::tf32x3>::variant(
    "f32 on tensor cores: each factor is two TF32 numbers, three products, promoted sums"));
[[maybe_unused]] const bool registered = (register_layouts(decomposed_first), true);

}  // namespace
}  // namespace tessera::matmul
