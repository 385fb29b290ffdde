// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: Hopper's tensor cores; blocks that stay take tile after tile of entry after entry.
//
// The single product's kernel, whose units of work belong to entries: the next entry's first stages arrive
// while the last one's results are stored, and entries of one size are layers of one map, so that nothing is
// prepared for each. Sums are never split, and those of 8-bit floats always promoted: an entry's bits do not
// depend on the batch. What limits it: tiles that hang over the edges of small entries.
#include "batch_launch.cuh"
#include "matmul_batch.hpp"
#include "ops/matmul/problem/operand_layouts.hpp"

namespace tessera::matmul_batch {
namespace {

// Wherever they lie, both may have to be packed.
std::size_t workspace(const Arguments& arguments, const Tuning&) {
  const MixedBatch all = with_rows(MixedBatch::of(arguments));
  const auto bytes = [&](const Factor& f, std::int64_t step) {
    return matmul::packed_bytes(f) * static_cast<std::size_t>(step == 0 ? 1 : all.batch);
  };
  return bytes(matmul::left_of(all.first), all.a_step) + bytes(matmul::right_of(all.first), all.b_step);
}

Reason refuses(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  if (Reason reason = matmul::wgmma_refuses(entry_of(arguments, 0), tuning, device)) return reason;
  const MixedBatch all = with_rows(MixedBatch::of(arguments));
  const double units =
      static_cast<double>(all.batch) * static_cast<double>(most_units_of(all.first.m, all.first.n));
  if (units > static_cast<double>(most_units)) return "it counts tiles of all entries up to 2^30";
  return std::nullopt;
}

void run(const Arguments& arguments, const Tuning& tuning, Run& here) {
  const BatchJob job{with_rows(MixedBatch::of(arguments)), tuning["tile"]};
  const MixedProblem& first = job.batch.first;
  if (job.batch.batch == 0 || first.m == 0 || first.n == 0) return;
  launches_of(first.a.element).batch(job, here);
}

Choice with_tile(int tile) {
  Choice out;
  out.tuning = Tuning{{"tile", tile}};
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.run[element] = run;
  out.refuses = refuses;
  out.workspace_bytes = workspace;
  return out;
}

Variant variant() {
  Variant out;
  out.idea =
      "tensor cores fed by the TMA, blocks that stay for tile after tile of all entries; tile by a "
      "model";
  out.where = Where::cuda;
  out.needs = matmul::needs_hopper;
  // The model's choice first; then each tile, by the single product's numbers.
  for (int tile = 0; tile <= matmul::tile_count; ++tile)
    if (tile == 0 || (batch_tiles >> (tile - 1) & 1) != 0) out.choices.push_back(with_tile(tile));
  return out;
}

const Rung rung(variant());
// An A across k is packed; there are kernels for a B that lies so.
[[maybe_unused]] const bool registered =
    (register_layouts([](Element element, const OperandLayout& order) {
       return matmul::by_tma(order, order.input == "B" && size_of(element) == 2);
     }),
     true);

}  // namespace
}  // namespace tessera::matmul_batch
