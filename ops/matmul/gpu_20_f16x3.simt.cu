// SPDX-License-Identifier: Apache-2.0
// GPU rung 20 on the executor: f32 by three products of f16 parts. docs/learn/20_f16x3.md explains it.
//
// f16 has TF32's 11 bits at twice the rate, but a short range, so each chunk of 64 along k of each line has
// its own power-of-two scale. If that is not enough, bf16x6 or strict f32 is computed.
#if !defined(__CUDACC__)
#include "ops/matmul/emulated_fp32/emulated_fp32_kernel.hpp"

namespace tessera::matmul {
namespace {

const EmulatedFp32Rung<Compute::f16x3> rung{
    "f32 by three products of scaled f16 parts, as tensor cores sum them"};

}  // namespace
}  // namespace tessera::matmul
#endif
