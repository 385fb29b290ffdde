// SPDX-License-Identifier: Apache-2.0
// GPU rung 18 on the executor: f32 by three products of TF32 parts. docs/learn/18_tf32x3.md explains it.
//
// One TF32 product loses 13 bits of each operand. The lost bits are a TF32 number themselves, so hi·hi +
// hi·lo + lo·hi equals f32's product up to 2^-22. Tensor cores truncate sums, so each chunk's sum is promoted
// to an f32 sum, which rounds.
#if !defined(__CUDACC__)
#include "ops/matmul/emulated_fp32/emulated_fp32_kernel.hpp"

namespace tessera::matmul {
namespace {

const EmulatedFp32Rung<Compute::tf32x3> rung{"f32 by three products of TF32 parts, as tensor cores sum them"};

}  // namespace
}  // namespace tessera::matmul
#endif
