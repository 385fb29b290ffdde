// SPDX-License-Identifier: Apache-2.0
// The baseline: cuBLASLt. The first proposal of its heuristic is not always the fastest, so every algorithm
// that it proposes for a shape is tried once, and the fastest is kept; trials run in place, where the L2 may
// hold the operands, or, with rotated=1, on copies that exceed the L2. first=1 takes the first proposal, like
// most programs.
#include "ops/matmul/baselines/cublas.cuh"
#include "tessera/bench/result.hpp"

namespace tessera::matmul {
namespace {

using Cublas = lt::Baseline<lt::product_of>;

const Rung rung(Cublas::variant("cuBLASLt, the fastest of its heuristics for this shape",
                                {Cublas::choice<lt::Tries::in_place>({}),
                                 Cublas::choice<lt::Tries::rotated>({{"rotated", 1}}),
                                 Cublas::choice<lt::Tries::none>({{"first", 1}})}));

std::string version() {
  const std::size_t number = lt::library().absent.empty() ? lt::library().version() : 0;
  return number == 0 ? ""
                     : std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
                           std::to_string(number % 100);
}
[[maybe_unused]] const bool version_registered = (bench::register_library_version("cublas", version), true);

}  // namespace
}  // namespace tessera::matmul
