// SPDX-License-Identifier: Apache-2.0
// From arguments to launches of the wgmma kernels: how operands are read (TMA maps, packing), which parts of
// C are launched with which plan, and what the rungs have in common.
#pragma once
#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/kernels/hopper/wgmma_kernel.cuh"
#include "ops/matmul/kernels/pack_operands.cuh"
#include "tessera/core/device.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/tensor_map.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {

inline constexpr int most_devices = 64;

// An operand as lines along k or, where it is MN-major, lines along rows (of A; columns of B).
struct Readable {
  cuda::Lines lines;
  bool mn_major = false;
};

inline Readable along_k(const Factor& f) { return {{f.data, f.lines, f.k, f.line_step}, false}; }
inline Readable along_lines(const Factor& f) { return {{f.data, f.k, f.lines, f.k_step}, true}; }

// As it lies, if the TMA can read that; `turns`: whether a kernel for transposed operands will be there.
inline std::optional<Readable> readable(const Factor& f, bool takes_mn_major) {
  if ((f.k_step == 1 || f.k == 1) && cuda::has_tensor_map(along_k(f).lines, f.bytes)) return along_k(f);
  if (takes_mn_major && (f.line_step == 1 || f.lines == 1) &&
      cuda::has_tensor_map(along_lines(f).lines, f.bytes))
    return along_lines(f);
  return std::nullopt;
}

inline cuda::Lines result_lines(const WgmmaArgs& args) { return {args.out, args.m, args.n, args.out_row}; }

inline CUtensorMapDataType map_type(Element element) {
  switch (element) {
    case Element::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Element::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Element::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Element::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

inline bool is_plain(const WgmmaArgs& args) { return args.epilogue.plain() && size_of(args.out_element) > 1; }

// Whether the TMA may store C: it writes lines to their last 16 bytes, whatever the map says.
inline bool can_tma_store(const WgmmaArgs& args) {
  const auto bytes = static_cast<int>(size_of(args.out_element));
  return is_plain(args) && cuda::has_tensor_map(result_lines(args), bytes) && args.n * bytes % 16 == 0;
}

enum class Blocks { stay, one_for_each_tile };

// How many clusters of a kernel are at work at the same time, asked of each kernel, device and size once:
// nvcc gives each file a kernel of its own of one Config. A part of a GPU and all of it share their index:
// who comes second asks each time.
template <class C, auto kernel>
int clusters_at_work(const Device& device, int cluster_splits, const cudaLaunchConfig_t& config) {
  struct Known {
    std::once_flag once;
    int processors = 0, clusters = 0;
  };
  const auto ask = [&] {
    int clusters = 0;
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes));
    cuda::check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    return clusters;
  };
  static Known known[most_devices][most_cluster_splits];
  Known& entry = known[device.index % most_devices][cluster_splits - 1];
  std::call_once(entry.once, [&] {
    entry.processors = device.processors;
    entry.clusters = ask();
  });
  return entry.processors == device.processors ? entry.clusters : ask();
}

// `type`: how the TMA takes A's and B's elements.
template <class C>
void make_maps(WgmmaArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type) {
  constexpr int box = 128 / C::element_bytes;
  // Rows that C has not need not be copied, where nobody shares them.
  const std::int64_t rows = std::min<std::int64_t>((args.m + 7) / 8 * 8, C::rows);
  const int a_rows =
      C::cluster_cols == 1 && !C::mn_major_a ? static_cast<int>(rows) : C::rows / C::cluster_cols;
  args.a_bytes = a_rows * C::cluster_cols * 128;
  if (args.depth > 0) {  // of an empty sum nothing is read
    args.a = cuda::tensor_map(a.lines, type, C::element_bytes, C::mn_major_a ? box : a_rows);
    args.b =
        cuda::tensor_map(b.lines, type, C::element_bytes, C::mn_major_b ? box : C::cols / C::cluster_rows);
  }
  args.plain = is_plain(args);
  args.tma_store = can_tma_store(args);
  if constexpr (can_overlap_epilogue<C>)
    args.overlaps_epilogue = args.tma_store && size_of(args.out_element) == 2 && args.order.splits == 1 &&
                             args.units == args.tiles && args.depth >= least_overlapped_depth<2>;
  if (args.tma_store)
    args.c = cuda::tensor_map(result_lines(args), map_type(args.out_element),
                              static_cast<int>(size_of(args.out_element)), 16);
}

// `meets(at_work)`: whether blocks wait for each other, of which `at_work` clusters run at once; args may
// note it.
template <class C, auto kernel, class Args, class Meets>
void launch_clusters(int threads, const Args& args, std::int32_t units, Blocks blocks, int cluster_splits,
                     const Run& run, const Meets& meets) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  const int cluster = C::cluster * cluster_splits;
  attributes[0].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(cluster);
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = C::shared_bytes;
  config.stream = static_cast<cudaStream_t>(run.stream);
  config.attrs = attributes;
  config.numAttrs = 1;
  const int at_work = clusters_at_work<C, kernel>(*run.device, cluster_splits, config);
  // Blocks that wait for each other must all be there, whatever else the device does; others may begin while
  // the kernel before is at its end.
  if (meets(at_work)) {
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
  } else {
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
  }
  config.numAttrs = 2;
  const int clusters = blocks == Blocks::stay ? std::min(at_work, units) : units;
  config.gridDim = static_cast<unsigned>(clusters * cluster);
  cuda::check(cudaLaunchKernelEx(&config, kernel, args));
}

template <class C, auto kernel>
void launch_tiles(int threads, WgmmaArgs& args, const Readable& a, const Readable& b,
                  CUtensorMapDataType type, Blocks blocks, const Run& run) {
  make_maps<C>(args, a, b, type);
  // Where blocks leave their parts, stages of another tile cannot come.
  if (args.cluster_splits > 1) blocks = Blocks::one_for_each_tile;
  launch_clusters<C, kernel>(threads, args, args.units, blocks, args.cluster_splits, run, [&](int at_work) {
    // Of one slice of columns nobody waits for others: who comes last adds.
    return args.all_at_work = split_slices<C> > 1 && args.order.splits > 1 && args.units <= at_work;
  });
}

// Which kernel a launch takes. One translation unit for each type that multiplies.

// One launch: C's rows and columns that it makes, and the lines of A and B that they need.
struct WgmmaPart {
  Readable a, b;
  WgmmaArgs args;  // but for what the tile decides
  TilePlan plan;
};

inline void follow(const TilePlan& plan, WgmmaArgs& args, const Run& run) {
  args.order = plan.order;
  args.tail = plan.tail;
  args.tiles = static_cast<std::int32_t>(plan.order.count());
  args.units = static_cast<std::int32_t>(plan.units);
  args.depth = plan.depth;
  args.split_depth = plan.split_depth;
  args.cluster_splits = plan.cluster_splits;
  args.arrived = static_cast<std::uint32_t*>(run.workspace);
  args.partial = static_cast<char*>(run.workspace) + counter_bytes;
}

// Spare memory: counters and sums of splits, if there are any, then packed operands.
struct Room {
  std::size_t splits = 0, packed_a = 0, packed_b = 0;

  std::size_t bytes() const { return splits + packed_a + packed_b; }
  std::size_t zeros() const { return splits == 0 ? 0 : counter_bytes; }
};

// The kernels of tile_shapes and promoted_shapes, in their order.
template <bool promoted>
inline constexpr TileConfig tile_configs[] = {
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4, .cluster_rows = 2},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .cluster_split_k = true, .promoted = promoted},
    {.rows = 128, .cols = 64, .consumers = 2, .stages = 8, .cluster_split_k = true, .promoted = promoted},
    {.rows = 64, .cols = 64, .consumers = 1, .stages = 12, .promoted = promoted},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .cluster_rows = 2, .ping_pong = true},
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4},
    {.rows = 64, .cols = 128, .consumers = 1, .stages = 8},
    {.rows = 128, .cols = 192, .consumers = 2, .stages = 4}};
// The sums of a stage need registers of their own: half the columns, twice the rows.
inline constexpr TileConfig promoted_large{
    .rows = 256, .cols = 128, .consumers = 2, .stages = 4, .cluster_cols = 2, .promoted = true};
// Kernels for transposed operands exist for these tiles, where they can. The others take what was packed.
inline constexpr unsigned mn_major_tiles = 0b00101, all_tiles = (1u << tile_count) - 1;

template <class C>
void launch(WgmmaArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type, const Run& run) {
  launch_tiles<C, multiply_tiles<C>>(C::threads, args, a, b, type, Blocks::stay, run);
}

template <class Kind, TileConfig config>
void launch_mn_major(WgmmaArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type,
                     const Run& run) {
  const auto with = [&]<bool mn_major_a, bool mn_major_b>() {
    constexpr TileConfig mn_major = [] {
      TileConfig out = config;
      out.mn_major_a = mn_major_a;
      out.mn_major_b = mn_major_b;
      return out;
    }();
    launch<Tile<Kind, mn_major>>(args, a, b, type, run);
  };
  if (a.mn_major && b.mn_major) return with.template operator()<true, true>();
  if (a.mn_major) return with.template operator()<true, false>();
  with.template operator()<false, true>();
}

// `promotes`: the kind's sums are too short to go on for long.
template <class Kind, bool promotes, int tile>
void launch_tile(WgmmaArgs& args, const Readable& a, const Readable& b, CUtensorMapDataType type, bool fast,
                 const Run& run) {
  constexpr TileConfig config = tile_configs<promotes>[tile];
  if constexpr (Kind::takes_mn_major && (mn_major_tiles >> tile & 1) != 0)
    if (a.mn_major || b.mn_major) return launch_mn_major<Kind, config>(args, a, b, type, run);
  if constexpr (promotes && tile == 0)
    if (!fast) return launch<Tile<Kind, promoted_large>>(args, a, b, type, run);
  launch<Tile<Kind, config>>(args, a, b, type, run);
}

// fast: where there is a kernel whose sums are not promoted, it may be taken.
template <class Kind, bool promotes = false>
void run_tiles(WgmmaPart& part, CUtensorMapDataType type, bool fast, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  follow(part.plan, part.args, run);
  using Launch = decltype(&launch_tile<Kind, promotes, 0>);
  static constexpr Launch launches[] = {launch_tile<Kind, promotes, 0>, launch_tile<Kind, promotes, 1>,
                                        launch_tile<Kind, promotes, 2>, launch_tile<Kind, promotes, 3>,
                                        launch_tile<Kind, promotes, 4>, launch_tile<Kind, promotes, 5>,
                                        launch_tile<Kind, promotes, 6>, launch_tile<Kind, promotes, 7>};
  static_assert(std::size(launches) == tile_count);
  launches[part.plan.tile](part.args, part.a, part.b, type, fast, run);
}

// By what A and B hold. `wgmma_*.sm90.cu` have them.
void run_bf16(WgmmaPart& part, Run& run);
void run_f16(WgmmaPart& part, Run& run);
void run_tf32(WgmmaPart& part, Run& run);
void run_i8(WgmmaPart& part, Run& run);
void run_e4m3(WgmmaPart& part, bool b_is_e5m2, bool fast, Run& run);
void run_e5m2(WgmmaPart& part, bool b_is_e5m2, bool fast, Run& run);

// From a problem to launches: operands that can be read, and parts of C with a plan each.

struct WgmmaJob {
  Factor a, b;
  WgmmaArgs args;  // but for what the tile decides
  TileOptions options;
  Cuts cuts = Cuts::model;
};

inline void pack_of(int bytes, std::initializer_list<Packing> all, cudaStream_t stream) {
  if (bytes == 1) pack<1>(all, stream);
  else if (bytes == 2) pack<2>(all, stream);
  else pack<4>(all, stream);
}

// Both factors as they lie where that can be, else packed into spare memory.
inline std::pair<Readable, Readable> read_factors(const WgmmaJob& job, bool takes_mn_major, const Room& room,
                                                  Run& run) {
  char* const to_a = static_cast<char*>(run.workspace) + room.splits;
  char* const to_b = to_a + room.packed_a;
  const auto stream = static_cast<cudaStream_t>(run.stream);
  const auto packed = [](const Factor& f, const void* there) -> Readable {
    return {{there, f.lines, f.k, packed_step(f)}, false};
  };
  const std::optional<Readable> a = readable(job.a, takes_mn_major), b = readable(job.b, takes_mn_major);
  if (!a && !b) pack_of(job.a.bytes, {{job.a, to_a}, {job.b, to_b}}, stream);
  else if (!a) pack_of(job.a.bytes, {{job.a, to_a}}, stream);
  else if (!b) pack_of(job.b.bytes, {{job.b, to_b}}, stream);
  return {a ? *a : packed(job.a, to_a), b ? *b : packed(job.b, to_b)};
}

// Results with nothing but a factor whose rows are no whole 16 bytes: the TMA cannot store them.
inline bool goes_by_elements(const WgmmaArgs& args) { return is_plain(args) && !can_tma_store(args); }

// How much longer results take than those of 16 bits in boxes: by their bytes, and element by element.
inline double results_of(const WgmmaArgs& args) {
  const auto bytes = static_cast<double>(size_of(args.out_element));
  if (goes_by_elements(args) && bytes == 2) return 4;
  return std::max(1.0, bytes / 2) * (can_tma_store(args) ? 1 : 2);
}

// Tiles that took longer than another in most of eight products whose results go by elements, by up to a
// half: of blocks that are no cluster; of TF32 also the one whose consumers take turns, which took a third
// longer at 5000×4111×4500.
inline unsigned slow_tiles(const WgmmaArgs& args, int bytes) {
  if (!goes_by_elements(args)) return 0;
  return bytes == 4 ? 0b10110000 : 0b10100000;
}

// Whether the TMA finds 128 bytes of a line within one of the cache's.
inline int cache_lines(const Readable& x, int bytes) {
  return reinterpret_cast<std::uintptr_t>(x.lines.data) % 128 == 0 && x.lines.stride * bytes % 128 == 0 ? 1
                                                                                                        : 2;
}

// Some of an operand's lines along k. Cuts are multiples of 16 bytes, so what the TMA could read it still
// can.
inline Readable lines_of(const Readable& whole, int bytes, std::int64_t first, std::int64_t count) {
  Readable out = whole;
  const std::int64_t offset = whole.mn_major ? first : first * whole.lines.stride;
  out.lines.data = static_cast<const char*>(whole.lines.data) + offset * bytes;
  (whole.mn_major ? out.lines.length : out.lines.count) = count;
  return out;
}

// What follows the sums of some rows and columns of C.
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
  out.out = const_cast<void*>(moved(whole.out, row * whole.out_row + col, whole.out_element));
  e.c0 = moved(e.c0, row * e.c0_row + col * e.c0_col, whole.out_element);
  e.bias = moved(e.bias, row * e.bias_row + col * e.bias_col, e.bias_element);
  e.scale_a = scale(e.scale_a, row * e.scale_a_step);
  e.scale_b = scale(e.scale_b, col * e.scale_b_step);
  return out;
}

// What is settled before a product is launched, by sizes, strides and alignment alone.
struct PlannedJob {
  PlannedParts parts;
  Room room;
};

inline PlannedJob plan_job(const WgmmaJob& job, TileShapes shapes, bool takes_mn_major,
                           const Device& device) {
  PlannedJob out;
  const auto taken_as = [&](const Factor& f, std::size_t& packed) {
    if (const auto as_it_lies = readable(f, takes_mn_major)) return *as_it_lies;
    packed = packed_bytes(f);
    return Readable{{nullptr, f.lines, f.k, packed_step(f)}, false};
  };
  const Readable a = taken_as(job.a, out.room.packed_a), b = taken_as(job.b, out.room.packed_b);
  const unsigned tiles = a.mn_major || b.mn_major ? mn_major_tiles : all_tiles;
  const CacheLines lines{cache_lines(a, job.a.bytes), cache_lines(b, job.b.bytes)};
  const auto plan = [&](std::int64_t rows, std::int64_t cols, bool is_large) {
    const WgmmaArgs args = args_of(job.args, 0, 0, rows, cols);
    const TileOptions options = is_large ? job.options : TileOptions{};
    const unsigned taken = options.tile == 0 ? tiles & ~slow_tiles(args, job.a.bytes) : tiles;
    return plan_tiles(shapes, rows, cols, job.a.k, 128 / job.a.bytes, device.processors, taken, options,
                      results_of(args), lines);
  };
  out.parts = plan_parts(job.args.m, job.args.n, job.cuts, plan);
  for (int i = 0; i < out.parts.count; ++i)
    if (const TilePlan& p = out.parts.part[i].plan; p.order.splits > 1)
      out.room.splits = std::max(out.room.splits,
                                 counter_bytes + partial_bytes(shapes[static_cast<std::size_t>(p.tile)], p));
  return out;
}

// Calls launch(part) for each part of the product, in one stream. Parts write apart from each other, so each
// begins beside the one before, unless both need the spare memory where sums of splits meet.
template <class Launch>
void run_parts(const WgmmaJob& job, const PlannedJob& planned, bool takes_mn_major, Run& run,
               const Launch& launch) {
  const cuda::OnDevice on_device(run.device->index);
  const auto [a, b] = read_factors(job, takes_mn_major, planned.room, run);
  const PlannedParts& parts = planned.parts;
  bool has_split = false;
  for (int i = 0; i < parts.count; ++i) {
    const PlannedPart& p = parts.part[i];
    WgmmaPart part{lines_of(a, job.a.bytes, p.row, p.rows), lines_of(b, job.b.bytes, p.col, p.cols),
                   args_of(job.args, p.row, p.col, p.rows, p.cols), p.plan};
    const bool splits = p.plan.order.splits > 1;
    part.args.beside = i > 0 && !(has_split && splits);
    has_split = has_split || splits;
    launch(part);
  }
}

// The steps that lead there, of bf16 and f16.
enum class Step { one_warpgroup, warps_with_roles, blocks_that_stay };
void run_step(WgmmaJob& job, Step step, bool f16, Run& run);

// What the rungs that feed Hopper's tensor cores from shared memory have in common: from arguments to a job.

// The problem whose C has its columns next to each other: this one, or Cᵀ = Bᵀ·Aᵀ.
inline MixedProblem with_rows(const MixedProblem& p) { return p.c_col == 1 || p.n == 1 ? p : p.transposed(); }

inline EpilogueArgs epilogue_of(const MixedProblem& p) {
  EpilogueArgs e;
  e.alpha = p.alpha;
  e.beta = p.beta;
  e.c0 = p.c0.data;
  e.c0_row = p.c0.row;
  e.c0_col = p.c0.col;
  e.bias = p.bias;
  e.bias_element = p.bias_element;
  e.bias_row = p.bias_row;
  e.bias_col = p.bias_col;
  e.scale_a = p.k == 0 ? nullptr : p.scale_a;
  e.scale_b = p.k == 0 ? nullptr : p.scale_b;
  e.scale_a_step = p.scale_a_step;
  e.scale_b_step = p.scale_b_step;
  e.activation = p.activation;
  return e;
}

inline Factor left_of(const MixedProblem& p) {
  return {p.a.data, static_cast<int>(size_of(p.a.element)), p.m, p.k, p.a.row, p.a.col};
}
inline Factor right_of(const MixedProblem& p) {
  return {p.b.data, static_cast<int>(size_of(p.b.element)), p.n, p.k, p.b.col, p.b.row};
}

// p.m, p.n ≥ 1; C's columns lie next to each other.
inline WgmmaJob job_of(const MixedProblem& p, const TileOptions& options) {
  WgmmaJob job{.a = left_of(p), .b = right_of(p), .args = {}, .options = options};
  job.args.m = p.m;
  job.args.n = p.n;
  job.args.epilogue = epilogue_of(p);
  job.args.out = p.c;
  job.args.out_element = p.c_element;
  job.args.out_row = p.c_row;
  return job;
}

// At most.
inline std::size_t wgmma_workspace(const Arguments& arguments, const Tuning&) {
  const MixedProblem p = with_rows(MixedProblem::of(arguments));
  return counter_bytes + most_split_bytes + packed_bytes(left_of(p)) + packed_bytes(right_of(p));
}

inline Reason wgmma_refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const MixedProblem p = MixedProblem::of(arguments);
  if (p.a.element == Element::f32 && p.compute != Compute::tf32)
    return "its f32 factors lose 13 bits: --compute tf32 allows that";
  if (p.c_col != 1 && p.c_row != 1 && p.n != 1 && p.m != 1)
    return "C's rows, or its columns, are not contiguous";
  return counts_beyond(arguments);
}

inline Reason needs_hopper(const Device& device) {
  if (device.compute_capability != 90) return "it needs a Hopper GPU (compute capability 9.0)";
  return cuda::no_tensor_maps();
}

// A rung on the way there: one tile for all, of bf16 and f16.
template <Step step>
Variant step_variant(const char* idea) {
  Choice choice;
  choice.run[Element::bf16] =
      choice.run[Element::f16] = [](const Arguments& arguments, const Tuning&, Run& run) {
        const MixedProblem p = with_rows(MixedProblem::of(arguments));
        if (p.m == 0 || p.n == 0) return;
        WgmmaJob job = job_of(p, {});
        run_step(job, step, p.a.element == Element::f16, run);
      };
  choice.refuses = wgmma_refuses;
  choice.workspace_bytes = wgmma_workspace;
  Variant out;
  out.idea = idea;
  out.where = Where::cuda;
  out.needs = needs_hopper;
  out.choices.push_back(std::move(choice));
  return out;
}

}  // namespace tessera::matmul
