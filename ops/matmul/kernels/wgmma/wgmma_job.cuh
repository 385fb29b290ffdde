// SPDX-License-Identifier: Apache-2.0
// Plans a product as one or more parts of C, each with its tile and split-K, and launches one kernel for each
// part.
#pragma once
#include <algorithm>
#include "ops/matmul/plans/tile_plan.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_operands.cuh"
#include "tessera/cuda/gpus.hpp"

namespace tessera::matmul {

struct WgmmaJob {
  MatrixRef a, b;
  WgmmaArgs args;  // without the fields that depend on the tile
  TileOptions options;
  LaunchMode launch_mode = LaunchMode::model;
  int exact_splits = 0;  // the number of parts of each sum, whatever the tile; 0: the model's choice
};

// True if the epilogue is scalar-only and the TMA cannot store C because of its address, row stride or row
// length.
inline bool needs_element_stores(const WgmmaArgs& args) {
  return use_staged_scalar_epilogue(args) && !can_tma_store(args);
}

// Returns the time to store C relative to a TMA store of 16-bit elements: proportional to the element size
// from 16 bits on, and doubled without the TMA. 16-bit elements stored one by one cost element_store_cost.
inline constexpr double element_store_cost = 4;
inline double store_cost_of(const WgmmaArgs& args) {
  const auto bytes = static_cast<double>(size_of(args.c_element));
  if (needs_element_stores(args) && bytes == 2) return element_store_cost;
  return std::max(1.0, bytes / 2) * (can_tma_store(args) ? 1 : 2);
}

// Returns the set of tiles, bit i for index i of tile_costs, that the model must not choose because C is
// stored element by element. Measured on eight products: tile 5 (no cluster) took up to 1.5 times as long as
// another tile in most of them. Tile 4 (runtime shape) was not measured.
inline unsigned excluded_tiles(const WgmmaArgs& args) { return needs_element_stores(args) ? 0b110000 : 0; }

// Returns the arguments for some rows and columns of C.
inline WgmmaArgs args_of(const WgmmaArgs& whole, std::int64_t row, std::int64_t col, std::int64_t rows,
                         std::int64_t cols) {
  WgmmaArgs out = whole;
  const auto moved = [](const void* from, std::int64_t elements, Element element) -> const void* {
    return from == nullptr
               ? nullptr
               : static_cast<const char*>(from) + elements * static_cast<std::int64_t>(size_of(element));
  };
  const auto scale = [](const float* from, std::int64_t elements) {
    return from == nullptr ? nullptr : from + elements;
  };
  EpilogueArgs& e = out.epilogue;
  out.m = rows;
  out.n = cols;
  out.c_data = const_cast<void*>(moved(whole.c_data, row * whole.c_stride + col, whole.c_element));
  e.c0 = moved(e.c0, row * e.c0_row_stride + col * e.c0_col_stride, whole.c_element);
  e.bias = moved(e.bias, row * e.bias_row_stride + col * e.bias_col_stride, e.bias_element);
  e.scale_a = scale(e.scale_a, row * e.scale_a_stride);
  e.scale_b = scale(e.scale_b, col * e.scale_b_stride);
  return out;
}

// The tiles that have kernels for MN-major operands. The others need packed operands.
inline constexpr unsigned mn_major_tiles = 0b00101, all_tiles = (1u << tile_count) - 1;

// The operand with misaligned rows that is read in place.
enum class MisalignedOperand : int { neither, a, b };

// The plan of a product. It depends on the arrays' addresses only through their alignment, so it can be
// reused for other arrays with the same alignment.
struct PlannedJob {
  PlannedLaunches launches;
  WorkspaceLayout workspace;
  MisalignedOperand misaligned = MisalignedOperand::neither;

  double microseconds() const {
    const double packed = static_cast<double>(workspace.packed_a + workspace.packed_b);
    return launches.microseconds + (packed == 0 ? 0 : packing_us + 2 * packed / packing_rate);
  }
};

// True if A, or B, can be read in place with misaligned rows while the other operand is copied to the
// workspace, within max_split_bytes.
inline bool supports_misaligned(const WgmmaJob& job, MisalignedOperand which) {
  const MatrixRef &read = which == MisalignedOperand::b ? job.b : job.a,
                  &other = which == MisalignedOperand::b ? job.a : job.b;
  return supports_misaligned_rows(read) && other.k_stride == 1 &&
         packed_bytes(copies_of(other, row_alignment(read))) <= std::size_t{max_split_bytes};
}
inline bool supports_misaligned(const WgmmaJob& job) {
  return supports_misaligned(job, MisalignedOperand::a) || supports_misaligned(job, MisalignedOperand::b);
}

inline PlannedJob plan_misaligned(const WgmmaJob& job, TileCosts costs, MisalignedOperand which,
                                  const Device& device) {
  const bool misaligned_is_b = which == MisalignedOperand::b;
  const RowAlignment alignment = row_alignment(misaligned_is_b ? job.b : job.a);
  const MatrixRef copies = copies_of(misaligned_is_b ? job.a : job.b, alignment);
  const TileCost cost = misaligned_cost(costs);
  // Each class of rows has its own tiles.
  const auto tiled = [&](std::int64_t rows, std::int64_t tile_rows) {
    return round_up(ceil_div(rows, std::int64_t{alignment.classes()}), tile_rows) * alignment.classes();
  };
  // The tensor maps of the operand that is read in place begin at 16-byte boundaries.
  const int of_copies =
      alignment_of({{nullptr, copies.rows, copies.k, packed_step(copies)}, false}, copies.bytes);
  TileOptions options = job.options;
  options.tile = 0;
  PlannedJob out;
  out.misaligned = which;
  (misaligned_is_b ? out.workspace.packed_a : out.workspace.packed_b) = packed_bytes(copies);
  out.launches.launch[0] = {
      0, 0, job.args.m, job.args.n,
      plan_tiles({&cost, 1}, misaligned_is_b ? job.args.m : tiled(job.args.m, cost.rows),
                 misaligned_is_b ? tiled(job.args.n, cost.cols) : job.args.n, copies.k, 128 / job.a.bytes,
                 device.multiprocessors, 1, options, element_store_cost,
                 misaligned_is_b ? Alignment{of_copies, 16} : Alignment{16, of_copies})};
  out.launches.launch[0].plan.tile = misaligned_tile;
  out.launches.count = 1;
  out.launches.microseconds = out.launches.launch[0].plan.microseconds;
  return out;
}

// Plans the product with A or B read in place, whichever the model estimates to be faster; nullopt if neither
// is possible.
inline std::optional<PlannedJob> plan_misaligned(const WgmmaJob& job, TileCosts costs, const Device& device) {
  std::optional<PlannedJob> out;
  for (const MisalignedOperand which : {MisalignedOperand::a, MisalignedOperand::b})
    if (supports_misaligned(job, which))
      if (PlannedJob candidate = plan_misaligned(job, costs, which, device);
          !out || candidate.microseconds() < out->microseconds())
        out = candidate;
  return out;
}

inline PlannedJob plan_job(const WgmmaJob& job, TileCosts costs, bool supports_mn_major,
                           const Device& device) {
  if (job.options.tile == misaligned_tile + 1) return plan_misaligned(job, costs, device).value();
  PlannedJob out;
  const auto taken_as = [&](const MatrixRef& f, std::size_t& packed) {
    if (const auto direct = tma_operand(f, supports_mn_major)) return *direct;
    packed = packed_bytes(f);
    return TmaOperand{{nullptr, f.rows, f.k, packed_step(f)}, false};
  };
  const TmaOperand a = taken_as(job.a, out.workspace.packed_a), b = taken_as(job.b, out.workspace.packed_b);
  const unsigned tiles = a.mn_major || b.mn_major ? mn_major_tiles : all_tiles;
  const Alignment alignment{alignment_of(a, job.a.bytes), alignment_of(b, job.b.bytes)};
  const auto plan = [&](std::int64_t rows, std::int64_t cols, bool is_large) {
    const WgmmaArgs args = args_of(job.args, 0, 0, rows, cols);
    const TileOptions options = is_large ? job.options : TileOptions{};
    const unsigned taken = options.tile == 0 ? tiles & ~excluded_tiles(args) : tiles;
    if (job.exact_splits != 0)
      return plan_exact_splits(costs, rows, cols, job.a.k, 128 / job.a.bytes, device.multiprocessors, taken,
                               job.exact_splits, store_cost_of(args), alignment);
    return plan_tiles(costs, rows, cols, job.a.k, 128 / job.a.bytes, device.multiprocessors, taken, options,
                      store_cost_of(args), alignment);
  };
  out.launches = plan_launches(job.args.m, job.args.n, job.launch_mode, plan);
  // Misaligned rows shift the k tiles, so bits depend on a row's place.
  if (out.workspace.packed_a + out.workspace.packed_b != 0 && job.options.tile == 0 &&
      job.exact_splits == 0 && job.launch_mode != LaunchMode::several)
    if (const auto other = plan_misaligned(job, costs, device);
        other && other->microseconds() < out.microseconds())
      return *other;
  for (int i = 0; i < out.launches.count; ++i)
    if (const TilePlan& p = out.launches.launch[i].plan; p.order.splits > 1)
      out.workspace.split_k = std::max(out.workspace.split_k, counter_bytes + partial_bytes(p));
  return out;
}

// One launch: a part of C, and the rows of A and columns of B that it needs.
struct WgmmaLaunch {
  TmaOperand a, b;
  WgmmaArgs args;  // without the fields that depend on the tile
  TilePlan plan;
  // The misaligned operand is read in place; the other one is its packed copies.
  MisalignedOperand misaligned = MisalignedOperand::neither;
  std::int64_t copied_rows = 0;  // in each copy
  RowAlignment alignment = {};
};

// One function for each element type of A and B, in `wgmma_*.sm90.cu`.
void run_bf16(WgmmaLaunch& sub_problem, Run& run);
void run_f16(WgmmaLaunch& sub_problem, Run& run);
void run_tf32(WgmmaLaunch& sub_problem, Run& run);
void run_i8(WgmmaLaunch& sub_problem, Run& run);
void run_e4m3(WgmmaLaunch& sub_problem, bool b_is_e5m2, bool fast_accum, Run& run);
void run_e5m2(WgmmaLaunch& sub_problem, bool b_is_e5m2, bool fast_accum, Run& run);

// Prepares the launch for an operand with misaligned rows: enqueues the copies of the other operand.
inline WgmmaLaunch misaligned_launch(const WgmmaJob& job, const PlannedJob& planned, Run& run) {
  const bool misaligned_is_b = planned.misaligned == MisalignedOperand::b;
  const MatrixRef &read = misaligned_is_b ? job.b : job.a, &other = misaligned_is_b ? job.a : job.b;
  const RowAlignment alignment = row_alignment(read);
  pack_copies(other, alignment, run.workspace, static_cast<cudaStream_t>(run.stream));
  const MatrixRef copies = copies_of(other, alignment);
  const TmaOperand packed{{run.workspace, copies.rows, copies.k, packed_step(copies)}, false};
  return {.a = misaligned_is_b ? packed : k_major_operand(read),
          .b = misaligned_is_b ? k_major_operand(read) : packed,
          .args = job.args,
          .plan = planned.launches.launch[0].plan,
          .misaligned = planned.misaligned,
          .copied_rows = other.rows,
          .alignment = alignment};
}

// Calls launch(part) for each part of the product, in one stream. Parts write disjoint elements, so a launch
// does not wait for the previous one, unless both use the split-K workspace.
template <class Launch>
void run_launches(const WgmmaJob& job, const PlannedJob& planned, bool supports_mn_major, Run& run,
                  const Launch& launch) {
  const cuda::OnDevice on_device(run.device->index);
  const PlannedLaunches& launches = planned.launches;
  if (planned.misaligned != MisalignedOperand::neither) {
    WgmmaLaunch sub_problem = misaligned_launch(job, planned, run);
    return launch(sub_problem);
  }
  const auto [a, b] = tma_operands(job.a, job.b, supports_mn_major, planned.workspace, run);
  bool has_split = false;
  for (int i = 0; i < launches.count; ++i) {
    const PlannedLaunch& p = launches.launch[i];
    WgmmaLaunch sub_problem{sub_operand(a, job.a.bytes, p.row, p.rows),
                            sub_operand(b, job.b.bytes, p.col, p.cols),
                            args_of(job.args, p.row, p.col, p.rows, p.cols), p.plan};
    const bool splits = p.plan.order.splits > 1;
    sub_problem.args.independent_of_previous = i > 0 && !(has_split && splits);
    has_split = has_split || splits;
    launch(sub_problem);
  }
}

}  // namespace tessera::matmul
