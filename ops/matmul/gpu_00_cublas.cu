// SPDX-License-Identifier: Apache-2.0
// The baseline: cuBLASLt. The first proposal of its heuristic is not always the fastest, so every algorithm
// that it proposes for a shape is tried once, and the fastest is kept; trials run in place, where the L2 may
// hold the operands, or, with rotated=1, on copies that exceed the L2. first=1 takes the first proposal, like
// most programs.
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
