// SPDX-License-Identifier: Apache-2.0
// Plans and launches emulated FP32: the pass that decomposes the operands and checks their range, the
// fallback for operands that fail the check, and the product with promoted accumulators.
#pragma once
#include "ops/matmul/kernels/wgmma/wgmma_launch.cuh"
#include "ops/matmul/kernels/wgmma/wgmma_rung.cuh"
#include "ops/matmul/emulated_fp32/packed_operands.hpp"
#include "ops/matmul/emulated_fp32/emulated_fp32_operands.cuh"

namespace tessera::matmul {

inline constexpr TileConfig emulated_configs[] = {
    {.rows = 256,
     .cols = 128,
     .consumer_warpgroups = 2,
     .stages = 4,
     .cluster_cols = 2,
     .promoted = true,
     .ordered_wgmma_issue = true},
    {.rows = 128,
     .cols = 128,
     .consumer_warpgroups = 2,
     .stages = 6,
     .cluster_split_k = true,
     .promoted = true,
     .ordered_wgmma_issue = true},
    {.rows = 64, .cols = 64, .consumer_warpgroups = 1, .stages = 12, .promoted = true}};
// Times are per promotion interval, fitted to products on one NVIDIA H100 with an earlier model than that of
// tile_plan.cpp.
inline constexpr TileCost emulated_costs[] = {{256, 128, 1, 2, 2.25, 2.5, false, 0, false},
                                              {128, 128, 1, 1, 1.15, 1.5, true},
                                              {64, 64, 1, 1, 0.42, 0.8, false, 0, false}};

// One launch: a part of C with the requested components, and the same operands as bf16 components if the
// kernel may use those instead.
struct EmulatedLaunch {
  WgmmaLaunch requested;
  TmaOperand bf16_a = {}, bf16_b = {};
  const Compute* used = nullptr;
};

template <class Requested, class Bf16>
void launch_components(EmulatedLaunch& x, Run& run) {
  // The TMA copies the components as bits, whatever their type.
  constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  WgmmaArgs& requested = x.requested.args;
  make_maps<Requested>(requested, x.requested.a, x.requested.b, type);
  EmulatedLaunchArgs args{requested, requested, x.used};
  if (x.bf16_a.matrix.data != nullptr) {
    make_operand_maps<Bf16>(args.bf16, x.bf16_a, x.bf16_b, type);
    args.bf16.k_tile_count = static_cast<std::int32_t>(x.bf16_a.matrix.cols * 4 / 128);
    args.bf16.k_tiles_per_split *= Requested::Kind::k / Bf16::Kind::k;
  }
  // For the reason given in launch_tiles().
  const GridMode mode = requested.cluster_splits > 1 ? GridMode::one_per_tile : GridMode::persistent;
  launch_cluster_kernel<Requested, multiply_used_components<Requested, Bf16>>(
      Requested::threads, args, requested.units, mode, Requested::cluster_size * requested.cluster_splits,
      run, [](int) { return false; });
}

template <class Requested, class Bf16>
void run_emulated_tile(EmulatedLaunch& x, Run& run) {
  apply_plan(x.requested.plan, x.requested.args, run);
  const auto with = [&]<int tile>() {
    launch_components<TileTraits<Requested, emulated_configs[tile]>,
                      TileTraits<Bf16, emulated_configs[tile]>>(x, run);
  };
  if (x.requested.plan.tile == 0) return with.template operator()<0>();
  if (x.requested.plan.tile == 1) return with.template operator()<1>();
  with.template operator()<2>();
}

// The plan of a product before it is launched. The workspace holds the range check's memory, its result, and
// both operands' components; bf16 components replace f16 ones.
struct EmulatedPlan {
  Compute compute;
  PlannedLaunches launches;
  std::size_t bytes_a = 0, bytes_b = 0;

  static constexpr std::size_t used_bytes = 256;
  std::size_t bytes() const { return range_check_bytes + used_bytes + bytes_a + bytes_b; }
};

// Operands that are decomposed already; null: not decomposed.
struct ReadyComponents {
  void *a = nullptr, *b = nullptr;

  static ReadyComponents of(const WgmmaJob& job, Compute compute, const Device& device) {
    const auto found = [&](const MatrixRef& f) {
      return find_packed({f.data, f.rows, f.k, f.row_stride, f.k_stride, compute, device.index});
    };
    return {found(job.a), found(job.b)};
  }
};

inline EmulatedPlan plan_emulated(const WgmmaJob& job, Compute compute, const Device& device) {
  EmulatedPlan out{.compute = compute, .launches = {}};
  const std::int64_t k = job.a.k;
  if (k > 0) {
    const auto bytes = [&](std::int64_t lines) {
      const std::size_t requested = EmulatedLayout(compute, lines, k).bytes();
      return compute == Compute::f16x3
                 ? std::max(requested, EmulatedLayout(Compute::bf16x6, lines, k).bytes())
                 : requested;
    };
    out.bytes_a = bytes(job.a.rows);
    out.bytes_b = bytes(job.b.rows);
  }
  // Split-K only within a cluster.
  const unsigned tiles = job.options.splits > 1 ? 0b010 : 0b111;
  const auto plan = [&](std::int64_t rows, std::int64_t cols, bool is_large) {
    const WgmmaArgs args = args_of(job.args, 0, 0, rows, cols);
    // The model's k tile is a promotion interval.
    TilePlan plan_of_part = plan_tiles(emulated_costs, rows, cols, k, promotion_k_tiles * k_of_line(compute),
                                       device.multiprocessors, is_large ? tiles : 0b111,
                                       is_large ? job.options : TileOptions{}, store_cost_of(args));
    plan_of_part.k_tile_count *= promotion_k_tiles;
    plan_of_part.k_tiles_per_split *= promotion_k_tiles;
    return plan_of_part;
  };
  out.launches = plan_launches(job.args.m, job.args.n, job.launch_mode, plan);
  return out;
}

// Defined in `emulated_*.sm90.cu`. run_f16x3() also runs bf16x6, by the same kernels.
void run_f16x3(EmulatedLaunch& x, Run& run);
void run_tf32x3(EmulatedLaunch& x, Run& run);

inline void run_emulated(const MixedProblem& p, const WgmmaJob& job, const EmulatedPlan& planned, Run& run,
                         const ReadyComponents& ready) {
  const cuda::OnDevice on_device(run.device->index);
  char* const range_check = static_cast<char*>(run.workspace);
  auto* const used = reinterpret_cast<Compute*>(range_check + range_check_bytes);
  char* const to_a = range_check + range_check_bytes + EmulatedPlan::used_bytes;
  char* const to_b = to_a + planned.bytes_a;
  const Compute requested = planned.compute;
  const auto operand_of = [&](Compute compute, const MatrixRef& f, void* parts) {
    const std::int64_t words = EmulatedLayout(compute, f.rows, p.k).line_bytes / 4;
    return TmaOperand{{parts, f.rows, words, words}, false};
  };
  TmaOperand operand_a{}, operand_b{}, bf16_a{}, bf16_b{};
  EmulatedArgs emulation{};
  if (p.k > 0) {
    const auto task = [](const MatrixRef& f, void* ready, char* to) {
      return DecompositionTask{f, ready != nullptr ? ready : to, ready != nullptr};
    };
    const DecompositionTask a = task(job.a, ready.a, to_a), b = task(job.b, ready.b, to_b);
    decompose_both(requested, a, b, range_check, used, static_cast<cudaStream_t>(run.stream));
    fall_back(p, requested, used, {job.a, to_a}, {job.b, to_b}, run);
    const EmulatedLayout layout_a(requested, job.a.rows, p.k), layout_b(requested, job.b.rows, p.k);
    operand_a = operand_of(requested, job.a, a.parts), operand_b = operand_of(requested, job.b, b.parts);
    if (requested == Compute::f16x3)
      bf16_a = operand_of(Compute::bf16x6, job.a, to_a), bf16_b = operand_of(Compute::bf16x6, job.b, to_b);
    emulation = {layout_a.scales_in(a.parts), layout_b.scales_in(b.parts), layout_a.lines_step,
                 layout_b.lines_step};
  }
  for (int i = 0; i < planned.launches.count; ++i) {
    const PlannedLaunch& part = planned.launches.launch[i];
    const auto rows = [&](const TmaOperand& x) { return sub_operand(x, 4, part.row, part.rows); };
    const auto cols = [&](const TmaOperand& x) { return sub_operand(x, 4, part.col, part.cols); };
    EmulatedLaunch x{{rows(operand_a), cols(operand_b),
                      args_of(job.args, part.row, part.col, part.rows, part.cols), part.plan}};
    if (p.k > 0) x.used = used;
    if (bf16_a.matrix.data != nullptr) x.bf16_a = rows(bf16_a), x.bf16_b = cols(bf16_b);
    x.requested.args.emulation = emulation;
    x.requested.args.emulation.scales_a += part.row;
    x.requested.args.emulation.scales_b += part.col;
    x.requested.args.independent_of_previous = i > 0;
    if (requested == Compute::tf32x3) run_tf32x3(x, run);
    else run_f16x3(x, run);
  }
}

inline WgmmaJob emulated_job(const MixedProblem& p, const Tuning& tuning) {
  WgmmaJob job = job_of(p, {tuning.find("tile").value_or(0), tuning["splits"], tuning["group"]});
  job.launch_mode = static_cast<LaunchMode>(tuning["cuts"]);
  return job;
}

// The rungs differ only in the arithmetic.
template <Compute compute>
struct EmulatedFp32Rung {
  static PreparedRun prepare(const Arguments& arguments, const Tuning& tuning, const Device& device) {
    const MixedProblem given = MixedProblem::of(arguments);
    const MixedProblem p = with_row_major_c(given);
    if (p.m == 0 || p.n == 0) return {};
    const EmulatedPlan planned = plan_emulated(emulated_job(p, tuning), compute, device);
    return {.launch =
                [given, planned](std::span<void* const> arrays, Run& run) {
                  const MixedProblem device_problem = with_row_major_c(with_addresses(given, arrays));
                  const WgmmaJob job = job_of(device_problem, {});
                  run_emulated(device_problem, job, planned, run,
                               ReadyComponents::of(job, compute, *run.device));
                },
            .workspace_bytes = planned.bytes(),
            .zeroed_bytes = range_check_bytes};
  }

  static Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
    const MixedProblem p = MixedProblem::of(arguments);
    if (p.compute != compute)
      return "it decomposes f32 operands: --compute " + std::string(text_of(compute)) + " allows it";
    if (p.c_col_stride != 1 && p.c_row_stride != 1 && p.n != 1 && p.m != 1)
      return "neither the rows nor the columns of C are contiguous";
    return exceeds_index_range(arguments);
  }

  // A PackedOperand holds the components, then the range check's workspace.
  static Reason refuses_packing(const Device& device) { return no_hopper(device); }
  static std::size_t packing_bytes(const PackedKey& key) {
    return EmulatedLayout(key.compute, key.lines, key.k).bytes() + range_check_bytes;
  }
  static void pack_operand(const PackedKey& key, void* parts, Run& run) {
    const cuda::OnDevice on_device(run.device->index);
    const auto stream = static_cast<cudaStream_t>(run.stream);
    char* const range_check =
        static_cast<char*>(parts) + EmulatedLayout(key.compute, key.lines, key.k).bytes();
    cuda::check(cudaMemsetAsync(range_check, 0, range_check_bytes, stream));
    decompose_one(key.compute, {{key.data, 4, key.lines, key.k, key.row_stride, key.k_stride}, parts},
                  range_check, stream);
  }

  static Variant variant(const char* idea) {
    Choice choice;
    choice.ranges = {
        {.name = "tile", .first = 0, .last = static_cast<int>(std::size(emulated_costs)), .value = 0},
        {.name = "splits", .first = 0, .last = max_cluster_splits, .value = 0},
        {.name = "group", .first = 0, .last = 64, .value = 0},
        {.name = "cuts", .first = 0, .last = 2, .value = 0}};
    choice.prepare[Element::f32] = prepare;
    choice.refuses = refuses;
    Variant out;
    out.idea = idea;
    out.where = Where::cuda;
    out.unsupported_device = no_hopper;
    out.choices.push_back(std::move(choice));
    static const Packer packer{refuses_packing, packing_bytes, pack_operand};
    register_packer(packer);  // all three rungs register the same functions
    return out;
  }
};

inline LayoutHandling decomposed_first(Element, const OperandLayout&) { return LayoutHandling::packed_first; }

}  // namespace tessera::matmul
