// SPDX-License-Identifier: Apache-2.0
// GPU rung 12: tensor cores, a warp at a time.
//
// One instruction multiplies 16 × 16 numbers by 16 × 8; its operands are distributed over the warp's lanes.
// Asynchronous copies fill a ring of stages in shared memory, swizzled so that any layout is read without
// bank conflicts; a warp loads the next fragment while the tensor cores multiply this one. Doubles are summed
// in double, faster than by any other unit; with 16-bit elements the limit is that every operand passes
// through registers.
#include <algorithm>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/plans/mma_plan.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

MmaOptions options_of(const Tuning& tuning) {
  return {static_cast<int>(tuning.find("tile").value_or(0)), static_cast<int>(tuning["splits"]),
          static_cast<int>(tuning["group"])};
}

// True if Cᵀ is computed. The small tiles are wide, so the shorter dimension of C becomes their rows. C may
// be row- or column-major either way.
bool transposes(std::int64_t m, std::int64_t n, std::int64_t c_row_stride, std::int64_t c_col_stride) {
  return n < m || (n == m && c_col_stride != 1 && c_row_stride == 1);
}

const MmaElement& element_of(const Arguments& arguments) {
  return arguments.element() == Element::f64 ? mma_f64 : mma_half;
}

MmaJob job_of(const Problem<double>& p) {
  return {.a = {p.a.data, p.m(), p.a.stride[0], p.a.stride[1]},
          .b = {p.b.data, p.n(), p.b.stride[1], p.b.stride[0]},
          .k = p.k(),
          .transposed = transposes(p.m(), p.n(), p.c.stride[0], p.c.stride[1]),
          .plan = {}};
}

MmaJob job_of(const MixedProblem& p) {
  return {.a = {p.a.data, p.m, p.a.row_stride, p.a.col_stride},
          .b = {p.b.data, p.n, p.b.col_stride, p.b.row_stride},
          .k = p.k,
          .transposed = transposes(p.m, p.n, p.c_row_stride, p.c_col_stride),
          .plan = {}};
}

// The plan, and with it the bits, follows from sizes and strides, not from addresses.
MmaPlan plan_of(const MmaJob& job, const MmaElement& element, const Tuning& tuning, const Device& device) {
  return plan_mma(
      element, job.left().lines, job.right().lines, job.k, {device.multiprocessors, device.max_shared_bytes},
      options_of(tuning),
      job.a.has_aligned_lines(element.bytes, job.k) && job.b.has_aligned_lines(element.bytes, job.k));
}

void launch(const Problem<double>& p, const MmaPlan& plan, Run& run) {
  MmaJob job = job_of(p);
  job.plan = plan;
  run_mma(p, job, run);
}

void launch(const MixedProblem& p, const MmaPlan& plan, Run& run) {
  MmaJob job = job_of(p);
  job.plan = plan;
  if (p.a.element == Element::bf16) run_mma_bf16(p, job, run);
  else run_mma_f16(p, job, run);
}

template <class P>
PreparedRun prepare(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  if (arguments.array("C").count() == 0) return {};
  const P p = P::of(arguments);
  const MmaPlan plan = plan_of(job_of(p), element_of(arguments), tuning, device);
  const std::size_t bytes = mma_workspace_bytes(element_of(arguments), plan);
  return {.launch = [p, plan](std::span<void* const> arrays,
                              Run& run) { launch(with_addresses(p, arrays), plan, run); },
          .workspace_bytes = bytes};
}

Reason refuses_half(const Arguments& arguments) {
  const MixedProblem p = MixedProblem::of(arguments);
  if (p.a.element != p.b.element) return "A and B must have the same element type";
  return std::nullopt;
}

Reason refuses(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  if (Reason reason = exceeds_index_range(arguments)) return reason;
  if (arguments.element() != Element::f64)
    if (const Reason reason = refuses_half(arguments)) return reason;
  const auto tile = static_cast<std::size_t>(tuning.find("tile").value_or(0));
  if (tile != 0 && element_of(arguments).tiles[tile - 1].shared_bytes() > device.max_shared_bytes)
    return "its tile needs " + std::to_string(element_of(arguments).tiles[tile - 1].shared_bytes()) +
           " bytes of shared memory, a block has at most " + std::to_string(device.max_shared_bytes);
  return std::nullopt;
}

Choice with_tile(std::size_t tile) {
  Choice out;
  if (tile != 0) out.tuning = Tuning{{"tile", static_cast<std::int64_t>(tile)}};
  out.ranges = {{.name = "splits", .first = 0, .last = 1024, .value = 0},
                {.name = "group", .first = 0, .last = 64, .value = 0}};
  if (tile <= mma_f64.tiles.size()) out.prepare[Element::f64] = prepare<Problem<double>>;
  if (tile <= mma_half.tiles.size())
    for (const Element half : {Element::bf16, Element::f16}) out.prepare[half] = prepare<MixedProblem>;
  out.refuses = refuses;
  out.unsupported_arguments = [](const Arguments& arguments) {
    return arguments.element() == Element::f64 ? Problem<double>::unsupported_arguments(arguments)
                                               : std::nullopt;
  };
  return out;
}

Variant variant() {
  Variant out;
  out.idea =
      "tensor cores, a warp at a time: asynchronous copies into a ring of stages, operands loaded a fragment "
      "ahead; tile and splits by a model";
  out.where = Where::cuda;
  out.unsupported_device = [](const Device& device) -> Reason {
    if (device.compute_capability < 80) return "requires compute capability 8.0";
    // A build without code for this GPU may hold code for an older one, which lacks these instructions.
    if (mma_code(device) < 80) return "this build has no code for this GPU: set TESSERA_CUDA_ARCHITECTURES";
    return std::nullopt;
  };
  // The model's choice first; then each tile, for tuning.
  for (std::size_t tile = 0; tile <= std::max(mma_f64.tiles.size(), mma_half.tiles.size()); ++tile)
    out.choices.push_back(with_tile(tile));
  return out;
}

const Rung rung(variant());
// A warp's loads transpose 16-bit elements; doubles are loaded one by one.
[[maybe_unused]] const bool registered =
    (register_layouts([](Element element, const OperandLayout& order) {
       const bool transposed = element != Element::f64 && !lies_along_k(order);
       return transposed ? LayoutHandling::transposed_on_load : LayoutHandling::direct;
     }),
     true);

}  // namespace
}  // namespace tessera::matmul
