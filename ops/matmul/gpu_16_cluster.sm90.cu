// SPDX-License-Identifier: Apache-2.0
// GPU rung 16: Hopper's tensor cores, fed by its TMA, with blocks in clusters. Each operation has a ladder:
// its variants, ordered from simplest to fastest. A rung is one of them (ARCHITECTURE.md).
//
// The tensor cores read both operands from shared memory. Two threads of each block, one for A and one for B,
// issue the TMA loads, which fill the pipeline's stages there in the swizzled layout; the other threads issue
// no loads of operands. Blocks are persistent. A slice of A or B that several blocks of a cluster need is
// multicast to them. A cost model chooses the tile and split-K. An operand that no tensor map can describe is
// first packed into an aligned copy. If only its row alignment is at fault, the cost model may instead read
// it in place and make shifted copies of the other operand, one per alignment class. FP8 accumulation has
// reduced precision, so it is promoted to FP32 every 128 elements of k. The limit is now power.
#include "ops/matmul/gemm/gemm.hpp"
#include "ops/matmul/gemm/operands.hpp"
#include "tessera/core/operation/promise.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"

namespace tessera::matmul {
namespace {

// True if wgmma takes MN-major operands of this type.
bool supports_mn_major(Element element) {
  switch (element) {
    case Element::bf16:
      return ptx::Bf16::supports_mn_major;
    case Element::f16:
      return ptx::F16::supports_mn_major;
    case Element::f32:
      return ptx::Tf32::supports_mn_major;
    case Element::i8:
      return ptx::S8::supports_mn_major;
    default:
      return ptx::E4m3E4m3::supports_mn_major;
  }
}

void launch_kernel_for(const MixedProblem& p, WgmmaLaunch& sub_problem, Run& run) {
  const bool b_is_e5m2 = p.b.element == Element::e5m2;
  switch (p.a.element) {
    case Element::bf16:
      return run_bf16(sub_problem, run);
    case Element::f16:
      return run_f16(sub_problem, run);
    case Element::f32:
      return run_tf32(sub_problem, run);
    case Element::i8:
      return run_i8(sub_problem, run);
    case Element::e4m3:
      return run_e4m3(sub_problem, b_is_e5m2, p.fast, run);
    default:
      return run_e5m2(sub_problem, b_is_e5m2, p.fast, run);
  }
}

bool is_promoted(const MixedProblem& p) {
  return (p.a.element == Element::e4m3 || p.a.element == Element::e5m2) && !p.fast;
}

TileCosts costs_of(const MixedProblem& p) {
  return is_promoted(p) ? TileCosts(promoted_costs) : TileCosts(tile_costs);
}

// Tunables; 0 leaves the choice to the cost model.
TileShape shape_in(const Tuning& tuning) {
  const auto value = [&](const char* name) { return tuning.find(name).value_or(0); };
  return {.rows = value("rows"),
          .cols = value("cols"),
          .cluster_rows = value("below"),
          .cluster_cols = value("beside")};
}

// with_row_major_c() for a batch-invariant product: one row of C, which is both row- and column-major, is
// oriented as several rows with its strides would be.
MixedProblem oriented(const MixedProblem& p, bool batch_invariant) {
  if (!batch_invariant || p.n == 1) return with_row_major_c(p);
  return p.c_row_stride == 1 ? p.transposed() : p;
}

// Returns the number of parts of the sums of a batch-invariant product, which must not depend on m; 0: any.
// `p`: before oriented(). MN-major operands have one part, because segmented tiles read K-major operands
// only. The row stride of a single row of A, if it is not 1, says that the row is K-major.
int exact_splits_of(const MixedProblem& p, const Device& device) {
  if (p.a.element == Element::i8) return 0;  // any order gives the same sum of integers
  const auto b = tma_operand(operand_b(p), supports_mn_major(p.a.element));
  if (p.a.row_stride == 1 || (b && b->mn_major)) return 1;
  return splits_of_any_rows(costs_of(p), p.n, p.k, 128 / static_cast<int>(size_of(p.a.element)),
                            device.multiprocessors);
}

WgmmaJob job_with(const MixedProblem& p, const Tuning& tuning) {
  const auto value = [&](const char* name) { return tuning.find(name).value_or(0); };
  WgmmaJob job = job_of(
      p,
      {.tile = value("tile"), .splits = value("splits"), .group = value("group"), .shape = shape_in(tuning)});
  job.launch_mode = static_cast<LaunchMode>(value("cuts"));
  return job;
}

void launch(const MixedProblem& p, const WgmmaJob& job, const PlannedJob& planned, Run& run) {
  run_launches(job, planned, supports_mn_major(p.a.element), run,
               [&](WgmmaLaunch& sub_problem) { launch_kernel_for(p, sub_problem, run); });
}

PreparedRun prepare(const Arguments& arguments, const Tuning& tuning, const Device& device) {
  const MixedProblem given = MixedProblem::of(arguments);
  const bool batch_invariant = is_batch_invariant(arguments);
  const MixedProblem p = oriented(given, batch_invariant);
  if (p.m == 0 || p.n == 0) return {};
  WgmmaJob job = job_with(p, tuning);
  if (batch_invariant) job.exact_splits = exact_splits_of(given, device);
  const PlannedJob planned = plan_job(job, costs_of(p), supports_mn_major(p.a.element), device);
  return {
      .launch =
          [given, batch_invariant, planned, options = job.options](std::span<void* const> arrays, Run& run) {
            const MixedProblem device_problem = oriented(with_addresses(given, arrays), batch_invariant);
            launch(device_problem, job_of(device_problem, options), planned, run);
          },
      .workspace_bytes = planned.workspace.bytes(),
      .zeroed_bytes = planned.workspace.zeroed_bytes()};
}

// Returns why the option `tile` cannot be used. p: after with_row_major_c().
Reason refuses_options(const MixedProblem& p, int tile) {
  if (tile == 0 || p.m == 0 || p.n == 0) return std::nullopt;
  if (tile == misaligned_tile + 1)
    return supports_misaligned(job_of(p, {}))
               ? std::nullopt
               : Reason("tile=" + std::to_string(tile) +
                        " requires K-major operands whose rows do not overlap");
  const auto is_mn_major = [&](const MatrixRef& x) {
    const auto operand = tma_operand(x, supports_mn_major(p.a.element));
    return operand && operand->mn_major;
  };
  return refuses_tile(tile, costs_of(p),
                      is_mn_major(operand_a(p)) || is_mn_major(operand_b(p)) ? mn_major_tiles : all_tiles);
}

Reason refuses(const Arguments& arguments, const Tuning& tuning, const Device&) {
  const MixedProblem p = MixedProblem::of(arguments);
  constexpr const char* of_bits[] = {"tile", "splits", "rows", "cols", "below", "beside", "cuts"};
  if (is_batch_invariant(arguments) &&
      std::ranges::any_of(of_bits, [&](const char* name) { return tuning.find(name).value_or(0) != 0; }))
    return std::string("chooses tile and splits itself with --") + batch_invariant_option;
  if (const Reason reason = refuses_options(with_row_major_c(p), tuning.find("tile").value_or(0)))
    return reason;
  if (const Reason reason = refuses_shape(shape_in(tuning), costs_of(p))) return reason;
  return unsupported_by_wgmma(p);
}

// True if tile number `tile`, counted from 1, has the property in either table.
bool has(std::int64_t tile, bool TileCost::*property) {
  const auto is_one = [&](TileCosts costs) {
    return tile > 0 && tile <= std::ssize(costs) && costs[static_cast<std::size_t>(tile - 1)].*property;
  };
  return is_one(tile_costs) || is_one(promoted_costs);
}

std::vector<int> multiples(int step, int max) {
  std::vector<int> out;
  for (int value = 0; value <= max; value += step) out.push_back(value);
  return out;
}

Choice with(const Tuning& fixed) {
  Choice out;
  out.tuning = fixed;
  const int tile = static_cast<int>(fixed.find("tile").value_or(0));
  const bool splits_over_cluster = has(tile, &TileCost::cluster_split_k) || tile == misaligned_tile + 1;
  out.ranges = {{.name = "group", .first = 0, .last = 64, .value = 0},
                {.name = "splits",
                 .first = 0,
                 .last = splits_over_cluster ? max_cluster_splits : max_workspace_splits,
                 .value = 0}};
  if (has(tile, &TileCost::runtime_shape)) {
    const std::vector<int> blocks{0, 1, 2, 4};
    for (const auto& [name, values] : {std::pair{"rows", multiples(rows_granularity, 192)},
                                       {"cols", multiples(cols_granularity, 192)},
                                       {"below", blocks},
                                       {"beside", blocks}})
      out.ranges.push_back({name, values.front(), values.back(), 0, values});
  }
  if (!fixed.find("cuts")) out.ranges.push_back({.name = "cuts", .first = 0, .last = 2, .value = 0});
  for (const Element element :
       {Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8, Element::f32})
    out.prepare[element] = prepare;
  out.refuses = refuses;
  return out;
}

Variant variant() {
  Variant out;
  out.idea =
      "TMA-fed tensor cores, persistent blocks, multicast within clusters; tile and split-K from a cost "
      "model";
  out.where = Where::cuda;
  out.unsupported_device = no_hopper;
  // First the choice that leaves all to the model; then, for tuning, one for each tile, and one with several
  // launches even if the model prefers a single one.
  out.choices.push_back(with({}));
  for (int tile = 1; tile <= misaligned_tile + 1; ++tile) out.choices.push_back(with({{"tile", tile}}));
  out.choices.push_back(with({{"cuts", static_cast<int>(LaunchMode::several)}}));
  return out;
}

const Rung rung(variant());
[[maybe_unused]] const bool registered = (register_layouts([](Element element, const OperandLayout& order) {
                                            return by_tma(order, supports_mn_major(element));
                                          }),
                                          keep_promise(batch_invariant_option), true);

}  // namespace
}  // namespace tessera::matmul
