// SPDX-License-Identifier: Apache-2.0
// The baseline: cuBLASLt. Its first guess is not always its best, so every algorithm that it
// proposes for a shape is tried once, and the fastest is kept: on the product as it lies, which the L2 may
// hold, or, as rotated=1, on copies that exceed it. first=1 takes the first guess, as most programs do.
#include "ops/matmul/baselines/cublas.cuh"

namespace tessera::matmul {
namespace {

using Cublas = lt::Baseline<lt::product_of>;

const Rung rung(Cublas::variant("cuBLASLt, the fastest of its heuristics for this shape",
                                {Cublas::choice<lt::Tries::in_place>({}),
                                 Cublas::choice<lt::Tries::rotated>({{"rotated", 1}}),
                                 Cublas::choice<lt::Tries::none>({{"first", 1}})}));

}  // namespace
}  // namespace tessera::matmul
