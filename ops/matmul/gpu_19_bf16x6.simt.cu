// SPDX-License-Identifier: Apache-2.0
// GPU rung 19 on the executor: f32 by six products of bf16 parts. docs/learn/19_bf16x6.md explains it.
//
// bf16 has f32's range and 8 of its 24 bits: three parts hold a factor exactly. Of the nine products of
// parts, the six that count are computed.
#if !defined(__CUDACC__)
#include "ops/matmul/kernels/simt/split_kernel.hpp"

namespace tessera::matmul {
namespace {

#if defined(TESSERA_TRACED)
[[maybe_unused]] const bool registered = (register_traced(split_variant<Compute::bf16x6>(
                                              "f32 by six products of bf16 parts, as tensor cores sum them")),
                                          true);
#else
const Rung rung(
    split_variant<Compute::bf16x6>("f32 by six products of bf16 parts, as tensor cores sum them"));
// Its workspace is not for operands.
[[maybe_unused]] const bool lays =
    (register_layouts([](Element, const OperandLayout&) { return LayoutHandling::direct; }), true);
#endif

}  // namespace
}  // namespace tessera::matmul
#endif
