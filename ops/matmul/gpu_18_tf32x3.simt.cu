// SPDX-License-Identifier: Apache-2.0
// GPU rung 18 on the executor: f32 by three products of TF32 parts. docs/learn/18_tf32x3.md explains it.
//
// One TF32 product loses 13 bits of each factor. The bits that it loses are a TF32 number of their own, so
// hi·hi + hi·lo + lo·hi is f32's product but for 2^-22. Tensor cores cut sums short, so each chunk's sum is
// promoted to an f32 that rounds.
#if !defined(__CUDACC__)
#include "ops/matmul/emulated_fp32/emulated_fp32_kernel.hpp"

namespace tessera::matmul {
namespace {

const EmulatedFp32Rung<Compute::tf32x3> rung{"f32 by three products of TF32 parts, as tensor cores sum them"};

}  // namespace
}  // namespace tessera::matmul
#endif
