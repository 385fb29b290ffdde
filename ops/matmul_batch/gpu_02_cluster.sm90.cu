// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: Hopper's tensor cores; persistent blocks take the tiles of all entries in turn.
//
// The single product's kernel, whose units of work belong to entries: the next entry's first stages are
// loaded while the last one's results are stored, and entries of one size are layers of one tensor map, so
// that nothing is prepared for each. Sums are never split, and those of 8-bit floats always promoted: an
// entry's bits do not depend on the batch. The bottleneck is tiles that extend beyond the edges of small
// entries.
#include <numeric>
#include "batch_launch.cuh"
#include "matmul_batch.hpp"
#include "ops/matmul/gemm/operands.hpp"

namespace tessera::matmul_batch {
namespace {

// Returns an upper bound: both operands may have to be packed.
std::size_t workspace(const Arguments& arguments, const Tuning&) {
  const MixedBatch all = with_row_major_c(MixedBatch::of(arguments));
  const auto bytes = [&](const MatrixRef& f, std::int64_t step) {
    return matmul::packed_bytes(f) * static_cast<std::size_t>(step == 0 ? 1 : all.batch);
  };
  return bytes(matmul::operand_a(all.first), all.a_step) + bytes(matmul::operand_b(all.first), all.b_step);
}

Reason refuses(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  if (Reason reason = matmul::wgmma_refuses(entry_of(arguments, 0), tuning, device)) return reason;
  const MixedBatch all = with_row_major_c(MixedBatch::of(arguments));
  const double units =
      static_cast<double>(all.batch) * static_cast<double>(max_units_of(all.first.m, all.first.n));
  if (units > static_cast<double>(max_units)) return "the entries may have at most 2^30 tiles in total";
  return std::nullopt;
}

void run(const Arguments& arguments, const Tuning& tuning, Run& run) {
  const BatchJob job{with_row_major_c(MixedBatch::of(arguments)), tuning["tile"]};
  const MixedProblem& first = job.batch.first;
  if (job.batch.batch == 0 || first.m == 0 || first.n == 0) return;
  launches_of(first.a.element).batch(job, run);
}

Choice with_tile(int tile) {
  Choice out;
  out.tuning = Tuning{{"tile", tile}};
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.prepare[element] = without_plan(run, workspace, 0);  // no zeros: all that is read is written first
  out.refuses = refuses;
  return out;
}

Variant variant() {
  Variant out;
  out.idea =
      "tensor cores fed by the TMA, blocks that stay for tile after tile of all entries; tile by a "
      "model";
  out.where = Where::cuda;
  out.unsupported_device = matmul::no_hopper;
  // The model's choice first, then each tile, by the single product's numbers.
  for (int tile = 0; tile <= matmul::tile_count; ++tile)
    if (tile == 0 || (batch_tiles >> (tile - 1) & 1) != 0) out.choices.push_back(with_tile(tile));
  return out;
}

const Rung rung(variant());
// An MN-major A is packed; for an MN-major B there are kernels.
[[maybe_unused]] const bool registered =
    (register_layouts([](Element element, const OperandLayout& order) {
       return matmul::by_tma(order, order.input == "B" && size_of(element) == 2);
     }),
     true);

// --- Groups: the same kernels for products of any sizes (multiply_group) ---

// Returns the problems with a row-major C, without those that have no elements.
std::vector<MixedProblem> problems_of(std::span<const matmul::Gemm> entries) {
  std::vector<MixedProblem> out;
  for (const matmul::Gemm& entry : entries)
    if (const MixedProblem p = matmul::with_row_major_c(MixedProblem::of(entry)); p.m != 0 && p.n != 0)
      out.push_back(p);
  return out;
}

std::int64_t max_units_of_all(const std::vector<MixedProblem>& all) {
  return std::accumulate(
      all.begin(), all.end(), std::int64_t{0},
      [](std::int64_t sum, const MixedProblem& p) { return sum + max_units_of(p.m, p.n); });
}

Reason refuses_group(std::span<const matmul::Gemm> entries, const Device& device) {
  if (Reason reason = matmul::no_hopper(device)) return reason;
  const Element element = entries.front().a_element;
  if (!matmul::has_mixed_problem(element))
    return "tensor cores here have no " + std::string(name_of(element));
  if (entries.front().batch_invariant) return "chooses its tiles for all entries together";
  for (const matmul::Gemm& entry : entries)
    if (Reason reason = matmul::unsupported_by_wgmma(MixedProblem::of(entry))) return reason;
  if (max_units_of_all(problems_of(entries)) > max_units)
    return "the entries may have at most 2^30 tiles in total";
  return std::nullopt;
}

std::size_t group_workspace(std::span<const matmul::Gemm> entries) {
  const auto all = problems_of(entries);
  std::size_t bytes = GroupWorkspace(all.size(), max_units_of_all(all)).packed_at;
  for (const MixedProblem& p : all)
    bytes += matmul::packed_bytes(matmul::operand_a(p)) + matmul::packed_bytes(matmul::operand_b(p));
  return bytes;
}

void compute_group(std::span<const matmul::Gemm> entries, Run& run) {
  const auto all = problems_of(entries);
  if (!all.empty()) launches_of(all.front().a.element).group(all, run);
}

[[maybe_unused]] const bool group_registered =
    (register_group_kernel(GroupKernel{"cluster", refuses_group, group_workspace, compute_group}), true);

}  // namespace
}  // namespace tessera::matmul_batch
