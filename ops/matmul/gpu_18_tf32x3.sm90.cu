// SPDX-License-Identifier: Apache-2.0
// GPU rung 18: f32 operands as two TF32 components each.
//
// An element minus its 11 bits of TF32 is a second TF32 number. Three of the four products of two such
// pairs are computed and added; the fourth is below f32's last bit. A pass writes both components of 16
// elements of k beside each other, whatever the operand's layout, so that the kernel of rung 16 loads and
// swizzles them as TF32. The tensor cores truncate their accumulators, so those of each 32 k are promoted to
// f32. If components leave f32's range, a check on the device selects strict f32 instead. The limit is power.
#include "ops/matmul/emulated_fp32/emulated_fp32_launch.cuh"

namespace tessera::matmul {
namespace {

const Rung rung(EmulatedFp32Rung<Compute::tf32x3>::variant(
    "f32 on tensor cores: each operand is two TF32 numbers, three products, promoted sums"));
[[maybe_unused]] const bool registered = (register_layouts(decomposed_first), true);

}  // namespace
}  // namespace tessera::matmul
