// SPDX-License-Identifier: Apache-2.0
// GPU rung 19 on the executor: f32 by six products of bf16 parts. docs/learn/19_bf16x6.md explains it.
//
// bf16 has f32's range and 8 of its 24 bits: three parts hold an operand exactly. The six largest of the nine
// products of parts are computed.
#if !defined(__CUDACC__)
#include "ops/matmul/emulated_fp32/emulated_fp32_kernel.hpp"

namespace tessera::matmul {
namespace {

const EmulatedFp32Rung<Compute::bf16x6> rung{"f32 by six products of bf16 parts, as tensor cores sum them"};

}  // namespace
}  // namespace tessera::matmul
#endif
