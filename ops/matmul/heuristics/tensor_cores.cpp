// SPDX-License-Identifier: Apache-2.0
// Heuristics: do not select rung 12 for doubles if the GPU's tensor cores are slow at them, nor rung 16 for
// TF32 if packing takes longer than multiplying in f32.
#include <algorithm>
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/run/heuristics.hpp"

namespace tessera::matmul {
namespace {

Reason slower_doubles(const Arguments& arguments, const Device& device) {
  const int capability = device.compute_capability;
  const bool fast = capability == 80 || capability == 90 || capability == 100;
  if (arguments.element() == Element::f64 && !fast)
    return "this GPU's other units multiply doubles faster than its tensor cores";
  return std::nullopt;
}

// Measured on one NVIDIA H200, with both operands along k.
Reason slower_packing(const Arguments& arguments, const Device&) {
  if (arguments.element() != Element::f32) return std::nullopt;
  const MixedProblem p = MixedProblem::of(arguments);
  const bool misaligned =
      p.a.col_stride == 1 && p.a.row_stride % 4 != 0 && p.b.row_stride == 1 && p.b.col_stride % 4 != 0;
  // A tile of floats has at least 16 rows.
  const std::int64_t rows = std::max<std::int64_t>(std::min(p.m, p.n), 16);
  if (!misaligned || rows > 256 || double(rows) * double(std::max(p.m, p.n)) * double(p.k) > 40e6)
    return std::nullopt;
  return "packing misaligned lines takes longer than multiplying them in f32";
}

[[maybe_unused]] const bool tensor_cores_heuristics_registered =
    (register_heuristic("matmul", {"tensor_cores"}, slower_doubles),
     register_heuristic("matmul", {"cluster"}, slower_packing), true);

}  // namespace
}  // namespace tessera::matmul
