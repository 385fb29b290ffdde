// SPDX-License-Identifier: Apache-2.0
// From arguments to launches of products whose f32 factors come in parts: the passes that split them, the
// product by tiles of promoted sums, and strict f32 behind it, which begins where the verdict says so.
#pragma once
#include "ops/matmul/kernels/hopper/wgmma_launch.cuh"
#include "ops/matmul/kernels/split_operands.cuh"

namespace tessera::matmul {

inline constexpr TileConfig split_configs[] = {
    {.rows = 256,
     .cols = 128,
     .consumers = 2,
     .stages = 4,
     .cluster_cols = 2,
     .promoted = true,
     .takes_turns = true},
    {.rows = 128,
     .cols = 128,
     .consumers = 2,
     .stages = 6,
     .cluster_split_k = true,
     .promoted = true,
     .takes_turns = true},
    {.rows = 64, .cols = 64, .consumers = 1, .stages = 12, .promoted = true}};
// Their times for two stages, fitted to products on one NVIDIA H100.
inline constexpr TileShape split_shapes[] = {{256, 128, 1, 2, 2.25, 2.5, 0, 1.2, false, 0, false},
                                             {128, 128, 1, 1, 1.15, 1.5, 0, 0.7, true},
                                             {64, 64, 1, 1, 0.42, 0.8, 0, 0, false, 0, false}};

template <class Kind>
void run_split_tile(WgmmaPart& part, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  follow(part.plan, part.args, run);
  // The parts' bits are nobody's numbers.
  constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  if (part.plan.tile == 0) return launch<Tile<Kind, split_configs[0]>>(part.args, part.a, part.b, type, run);
  if (part.plan.tile == 1) return launch<Tile<Kind, split_configs[1]>>(part.args, part.a, part.b, type, run);
  launch<Tile<Kind, split_configs[2]>>(part.args, part.a, part.b, type, run);
}

// What is settled before a product is launched. Of spare memory: the judgement's, sums of splits, the
// verdict, both operands' parts.
struct SplitPlan {
  Compute compute;
  PlannedParts parts;
  std::size_t splits = 0, of_a = 0, of_b = 0;

  static constexpr std::size_t verdict_bytes = 256;
  std::size_t bytes() const { return judge_bytes + splits + verdict_bytes + of_a + of_b; }
  std::size_t zeros() const { return judge_bytes + (splits == 0 ? 0 : counter_bytes); }
};

inline SplitPlan plan_split(const WgmmaJob& job, Compute compute, const Device& device) {
  SplitPlan out{.compute = compute, .parts = {}};
  const std::int64_t k = job.a.k;
  if (k > 0) {
    out.of_a = SplitLayout(compute, job.a.lines, k).bytes();
    out.of_b = SplitLayout(compute, job.b.lines, k).bytes();
  }
  const auto plan = [&](std::int64_t rows, std::int64_t cols, bool is_large) {
    const WgmmaArgs args = args_of(job.args, 0, 0, rows, cols);
    // As stages, those that are summed together.
    TilePlan two =
        plan_tiles(split_shapes, rows, cols, k, stages_of_sum * k_of_line(compute), device.processors, 0b111,
                   is_large ? job.options : TileOptions{}, results_of(args));
    two.depth *= stages_of_sum;
    two.split_depth *= stages_of_sum;
    return two;
  };
  out.parts = plan_parts(job.args.m, job.args.n, job.cuts, plan);
  for (int i = 0; i < out.parts.count; ++i)
    if (const TilePlan& p = out.parts.part[i].plan; p.order.splits > 1)
      out.splits = std::max(out.splits,
                            counter_bytes + partial_bytes(split_shapes[static_cast<std::size_t>(p.tile)], p));
  out.splits = (out.splits + 255) / 256 * 256;
  return out;
}

// By what the factors' parts are. `split_*.sm90.cu` have them.
void run_f16x3(WgmmaPart& part, Run& run);
void run_tf32x3(WgmmaPart& part, Run& run);
void run_bf16x6(WgmmaPart& part, Run& run);

inline void run_split_part(Compute compute, WgmmaPart& part, Run& run) {
  if (compute == Compute::f16x3) run_f16x3(part, run);
  else if (compute == Compute::tf32x3) run_tf32x3(part, run);
  else run_bf16x6(part, run);
}

inline void run_split(const MixedProblem& p, const WgmmaJob& job, const SplitPlan& planned, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  char* const judge = static_cast<char*>(run.workspace);
  Run there = run;
  there.workspace = judge + judge_bytes;
  char* const verdict = judge + judge_bytes + planned.splits;
  const Splitting a{job.a, verdict + SplitPlan::verdict_bytes},
      b{job.b, verdict + SplitPlan::verdict_bytes + planned.of_a};
  Readable left{}, right{};
  SplitArgs split{};
  if (p.k > 0) {
    auto* const said = reinterpret_cast<std::uint32_t*>(verdict);
    split_both(planned.compute, a, b, judge, said, static_cast<cudaStream_t>(run.stream));
    const SplitLayout of_a(planned.compute, job.a.lines, p.k), of_b(planned.compute, job.b.lines, p.k);
    const auto lines = [](const SplitLayout& layout, const Splitting& x) {
      return Readable{{layout.parts_in(x.room), x.from.lines, layout.line_bytes / 4, layout.line_bytes / 4},
                      false};
    };
    left = lines(of_a, a), right = lines(of_b, b);
    split = {of_a.scales_in(a.room), of_b.scales_in(b.room), of_a.lines_step, of_b.lines_step, said};
  }
  bool has_split = false;
  for (int i = 0; i < planned.parts.count; ++i) {
    const PlannedPart& one = planned.parts.part[i];
    WgmmaPart part{lines_of(left, 4, one.row, one.rows), lines_of(right, 4, one.col, one.cols),
                   args_of(job.args, one.row, one.col, one.rows, one.cols), one.plan};
    part.args.split = split;
    part.args.split.scales_a += one.row;
    part.args.split.scales_b += one.col;
    const bool splits = one.plan.order.splits > 1;
    part.args.beside = i > 0 && !(has_split && splits);
    has_split = has_split || splits;
    run_split_part(planned.compute, part, there);
  }
  if (p.k > 0) multiply_strictly(p, split.verdict, run);
}

inline WgmmaJob split_job(const MixedProblem& p, const Tuning& tuning) {
  WgmmaJob job =
      job_of(p, {tuning.find("tile").value_or(0), tuning["splits"], tuning["group"], tuning["strips"]});
  job.cuts = static_cast<Cuts>(tuning["cuts"]);
  return job;
}

// The rungs: what they differ in is the arithmetic.
template <Compute compute>
struct SplitRung {
  static void run(const Arguments& arguments, const Tuning& tuning, Run& here) {
    const MixedProblem p = with_rows(MixedProblem::of(arguments));
    if (p.m == 0 || p.n == 0) return;
    const WgmmaJob job = split_job(p, tuning);
    run_split(p, job, plan_split(job, compute, *here.device), here);
  }

  static PreparedRun prepare(const Arguments& arguments, const Tuning& tuning, const Device& device) {
    const MixedProblem given = MixedProblem::of(arguments);
    const MixedProblem p = with_rows(given);
    if (p.m == 0 || p.n == 0) return {};
    const SplitPlan planned = plan_split(split_job(p, tuning), compute, device);
    return {.launch =
                [given, planned, places = ProductArrays(arguments.signature()), tuning](
                    std::span<void* const> arrays, Run& here) {
                  const MixedProblem there = with_rows(places.put(given, arrays));
                  run_split(there, split_job(there, tuning), planned, here);
                },
            .workspace_bytes = planned.bytes(),
            .zeros = planned.zeros()};
  }

  // At most.
  static std::size_t workspace_bytes(const Arguments& arguments, const Tuning&) {
    const MixedProblem p = with_rows(MixedProblem::of(arguments));
    return judge_bytes + counter_bytes + most_split_bytes + SplitPlan::verdict_bytes +
           SplitLayout(compute, p.m, p.k).bytes() + SplitLayout(compute, p.n, p.k).bytes();
  }

  static Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
    const MixedProblem p = MixedProblem::of(arguments);
    if (p.compute != compute)
      return "its factors are split: --compute " + std::string(text_of(compute)) + " asks for that";
    if (p.c_col != 1 && p.c_row != 1 && p.n != 1 && p.m != 1)
      return "C's rows, or its columns, are not contiguous";
    return counts_beyond(arguments);
  }

  static Variant variant(const char* idea) {
    Choice choice;
    choice.ranges = {
        {.name = "tile", .first = 0, .last = static_cast<int>(std::size(split_shapes)), .value = 0},
        {.name = "splits", .first = 0, .last = 16, .value = 0},
        {.name = "group", .first = 0, .last = 64, .value = 0},
        {.name = "strips", .first = 0, .last = 2, .value = 0},
        {.name = "cuts", .first = 0, .last = 2, .value = 0}};
    choice.run[Element::f32] = run;
    choice.prepare[Element::f32] = prepare;
    choice.refuses = refuses;
    choice.workspace_bytes = workspace_bytes;
    Variant out;
    out.idea = idea;
    out.where = Where::cuda;
    out.needs = needs_hopper;
    out.choices.push_back(std::move(choice));
    return out;
  }
};

inline LayoutHandling split_first(Element, const OperandLayout&) { return LayoutHandling::packed_first; }

}  // namespace tessera::matmul
