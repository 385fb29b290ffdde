// SPDX-License-Identifier: Apache-2.0
// Launches one wgmma kernel for one part of C: selects the instantiation, encodes the tensor maps, sets the
// cluster dimension. Included by one translation unit for each element type.
#pragma once
#include <algorithm>
#include <iterator>
#include <mutex>
#include "ops/matmul/kernels/wgmma/wgmma_job.cuh"
#include "ops/matmul/kernels/wgmma/wgmma_kernel.cuh"

namespace tessera::matmul {

inline constexpr int max_devices = 64;

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

enum class GridMode { persistent, one_per_tile };

// Returns the maximum number of clusters of a kernel that are resident at the same time. The result of
// cudaOccupancyMaxActiveClusters is cached for each kernel, device index and cluster size. The key does not
// distinguish a MIG instance from the entire GPU; a cached entry is used only if its SM count matches.
template <class Traits, auto kernel>
int max_active_clusters(const Device& device, int cluster_size, const cudaLaunchConfig_t& config) {
  struct Cached {
    std::once_flag once;
    int multiprocessors = 0, clusters = 0;
  };
  const auto query = [&] {
    int clusters = 0;
    cuda::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Traits::shared_bytes));
    cuda::check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    return clusters;
  };
  static Cached cached[max_devices][max_cluster_blocks];
  Cached& entry = cached[device.index % max_devices][cluster_size - 1];
  std::call_once(entry.once, [&] {
    entry.multiprocessors = device.multiprocessors;
    entry.clusters = query();
  });
  return entry.multiprocessors == device.multiprocessors ? entry.clusters : query();
}

// Returns the rows or columns of a TMA box: the tile's, or those of C if it has fewer.
inline int box_extent(std::int64_t extent, int tile) {
  return static_cast<int>(std::min<std::int64_t>(round_up(extent, 8), tile));
}

// Encodes the tensor maps of A and B. `type`: the TMA's name for their element type.
template <class Traits>
void make_operand_maps(WgmmaArgs& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type) {
  constexpr int box = 128 / Traits::element_bytes;
  const TileShape shape = shape_of_tile<Traits>(args);
  // Without multicast, rows and columns beyond C are not loaded.
  const int a_rows = shape.cluster_cols == 1 && !Traits::mn_major_a ? box_extent(args.m, shape.rows)
                                                                    : shape.rows / shape.cluster_cols,
            b_cols = shape.cluster_rows == 1 && !Traits::mn_major_b ? box_extent(args.n, shape.cols)
                                                                    : shape.cols / shape.cluster_rows;
  args.a_tx_bytes = a_rows * shape.cluster_cols * 128;
  args.b_tx_bytes = b_cols * shape.cluster_rows * 128;
  if (args.k_tile_count > 0) {  // with k = 0 nothing is loaded
    args.a = cuda::tensor_map(a.matrix, type, Traits::element_bytes, Traits::mn_major_a ? box : a_rows);
    args.b = cuda::tensor_map(b.matrix, type, Traits::element_bytes, Traits::mn_major_b ? box : b_cols);
  }
}

// Encodes the tensor maps if one operand has misaligned rows: one map for each alignment class of it.
template <class Traits>
void make_misaligned_maps(MisalignedArgs& args, const TmaOperand& a, const TmaOperand& b,
                          CUtensorMapDataType type) {
  const cuda::Matrix2D& matrix = (args.misaligned_is_b ? b : a).matrix;
  const MatrixRef read{matrix.data, Traits::element_bytes, matrix.rows, matrix.cols, matrix.stride, 1};
  const std::int64_t count = args.alignment.classes();
  const int a_rows = box_extent(args.misaligned_is_b ? args.m : ceil_div(args.m, count), Traits::rows),
            b_cols = box_extent(args.misaligned_is_b ? ceil_div(args.n, count) : args.n, Traits::cols);
  args.a_tx_bytes = a_rows * 128;
  args.b_tx_bytes = b_cols * 128;
  for (int i = 0; i < count; ++i)
    args.tensor_maps[i] = cuda::tensor_map(rows_of_class(read, args.alignment, i), type,
                                           Traits::element_bytes, args.misaligned_is_b ? b_cols : a_rows);
  if (args.misaligned_is_b) args.a = cuda::tensor_map(a.matrix, type, Traits::element_bytes, a_rows);
  else args.b = cuda::tensor_map(b.matrix, type, Traits::element_bytes, b_cols);
}

template <class Traits>
void make_maps(typename Traits::Args& args, const TmaOperand& a, const TmaOperand& b,
               CUtensorMapDataType type) {
  if constexpr (Traits::misaligned_rows) make_misaligned_maps<Traits>(args, a, b, type);
  else make_operand_maps<Traits>(args, a, b, type);
  args.use_staged_scalar_epilogue = use_staged_scalar_epilogue(args);
  args.tma_store = can_tma_store(args) && !Traits::misaligned_rows;
  if constexpr (can_overlap_epilogue<Traits>)
    args.overlaps_epilogue = args.tma_store && size_of(args.c_element) == 2 && args.order.splits == 1 &&
                             args.k_tile_count >= min_overlapped_k_tiles<2>;
  if (args.tma_store)
    args.c = cuda::tensor_map(output_matrix(args), map_type(args.c_element),
                              static_cast<int>(size_of(args.c_element)), 16);
}

// Launches the kernel. configure_args(max_active) sets the args that depend on `max_active`, the maximum
// number of resident clusters, and returns true if the launch is cooperative.
template <class Traits, auto kernel, class Args, class ConfigureArgs>
void launch_cluster_kernel(int threads, const Args& args, std::int32_t units, GridMode grid_mode,
                           int cluster_size, const Run& run, const ConfigureArgs& configure_args) {
  cudaLaunchAttribute attributes[3]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(cluster_size), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(cluster_size);
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = Traits::shared_bytes;
  config.stream = static_cast<cudaStream_t>(run.stream);
  config.attrs = attributes;
  config.numAttrs = 1;
  const int max_active = max_active_clusters<Traits, kernel>(*run.device, cluster_size, config);
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  attributes[2].id = cudaLaunchAttributeCooperative;
  attributes[2].val.cooperative = configure_args(max_active);
  // Blocks that wait for each other must all be resident, so their launch is cooperative.
  config.numAttrs = attributes[2].val.cooperative ? 3 : 2;
  const int clusters = grid_mode == GridMode::persistent ? std::min(max_active, units) : units;
  config.gridDim = static_cast<unsigned>(clusters * cluster_size);
  cuda::check(cudaLaunchKernelEx(&config, kernel, args));
}

template <class Traits, auto kernel>
void launch_tiles(int threads, typename Traits::Args& args, const TmaOperand& a, const TmaOperand& b,
                  CUtensorMapDataType type, GridMode grid_mode, const Run& run) {
  make_maps<Traits>(args, a, b, type);
  // Both reductions overwrite pipeline stages, so the producer must not load the next tile meanwhile.
  if (args.cluster_splits > 1 || args.order.splits > 1) grid_mode = GridMode::one_per_tile;
  const int cluster_size =
      (Traits::runtime_shape ? args.shape.cluster_size() : Traits::cluster_size) * args.cluster_splits;
  launch_cluster_kernel<Traits, kernel>(
      threads, args, args.units, grid_mode, cluster_size, run, [&](int max_active) {
        return args.splits_can_wait = args.order.splits > 1 && args.units <= max_active;
      });
}

inline void apply_plan(const TilePlan& plan, WgmmaArgs& args, const Run& run) {
  args.order = plan.order;
  args.shape = plan.shape;
  args.units = static_cast<std::int32_t>(plan.order.count());
  args.k_tile_count = plan.k_tile_count;
  args.k_tiles_per_split = plan.k_tiles_per_split;
  args.cluster_splits = plan.cluster_splits;
  args.arrived = static_cast<std::uint32_t*>(run.workspace);
  args.partial = static_cast<char*>(run.workspace) + counter_bytes;
}

// tile_configs[i] matches tile_costs[i]. With promotion, entries 0 and 4 are used only for fast accumulation;
// promoted_large and promoted_runtime_shape take their place otherwise.
template <bool promoted>
inline constexpr TileConfig tile_configs[] = {
    {.rows = 128, .cols = 256, .consumer_warpgroups = 2, .stages = 4, .cluster_rows = 2},
    {.rows = 128,
     .cols = 128,
     .consumer_warpgroups = 2,
     .stages = 6,
     .cluster_split_k = true,
     .promoted = promoted},
    {.rows = 128,
     .cols = 64,
     .consumer_warpgroups = 2,
     .stages = 8,
     .cluster_split_k = true,
     .promoted = promoted},
    {.rows = 64, .cols = 64, .consumer_warpgroups = 1, .stages = 12, .promoted = promoted},
    {.rows = 192, .cols = 192, .consumer_warpgroups = 3, .stages = max_stages, .runtime_shape = true},
    {.rows = 128, .cols = 256, .consumer_warpgroups = 2, .stages = 4},
    {.rows = 64, .cols = 128, .consumer_warpgroups = 1, .stages = 8}};
// Promotion needs registers for a k tile's accumulators, so promoted_large has half the columns and twice the
// rows of entry 0, and promoted_runtime_shape has fewer rows than entry 4.
inline constexpr TileConfig promoted_large{
    .rows = 256, .cols = 128, .consumer_warpgroups = 2, .stages = 4, .cluster_cols = 2, .promoted = true};
inline constexpr TileConfig promoted_runtime_shape{.rows = 128,
                                                   .cols = 192,
                                                   .consumer_warpgroups = 2,
                                                   .stages = max_stages,
                                                   .promoted = true,
                                                   .runtime_shape = true};

template <bool promoted>
inline constexpr TileConfig segmented_config{.rows = segmented_rows,
                                             .cols = max_segmented_cols(promoted),
                                             .consumer_warpgroups = segmented_rows / 64,
                                             .stages = max_stages,
                                             .promoted = promoted,
                                             .runtime_shape = true,
                                             .segmented = true};

template <bool promoted>
inline constexpr TileConfig misaligned_config = [] {
  TileConfig out = tile_configs<promoted>[misaligned_base_tile];
  out.misaligned_rows = true;
  return out;
}();

template <class Traits>
void launch(typename Traits::Args& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type,
            const Run& run) {
  int threads = Traits::threads;
  if constexpr (Traits::runtime_shape) {
    args.stages = stage_count(args.shape);
    threads = (args.shape.rows / rows_granularity + 1) * 128;
  }
  launch_tiles<Traits, multiply_tiles<Traits>>(threads, args, a, b, type, GridMode::persistent, run);
}

template <class Kind, TileConfig config>
void launch_mn_major(WgmmaArgs& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type,
                     const Run& run) {
  const auto with = [&]<bool mn_major_a, bool mn_major_b>() {
    constexpr TileConfig mn_major = [] {
      TileConfig out = config;
      out.mn_major_a = mn_major_a;
      out.mn_major_b = mn_major_b;
      return out;
    }();
    launch<TileTraits<Kind, mn_major>>(args, a, b, type, run);
  };
  if (a.mn_major && b.mn_major) return with.template operator()<true, true>();
  if (a.mn_major) return with.template operator()<true, false>();
  with.template operator()<false, true>();
}

// `promotes`: the tensor cores accumulate this type with too few bits for long sums.
template <class Kind, bool promotes, int tile>
void launch_tile(WgmmaArgs& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type,
                 bool fast_accum, const Run& run) {
  constexpr TileConfig config = tile_configs<promotes>[tile];
  if constexpr (Kind::supports_mn_major && (mn_major_tiles >> tile & 1) != 0)
    if (a.mn_major || b.mn_major) return launch_mn_major<Kind, config>(args, a, b, type, run);
  if constexpr (promotes && tile == 0)
    if (!fast_accum) return launch<TileTraits<Kind, promoted_large>>(args, a, b, type, run);
  if constexpr (promotes && tile == 4)
    if (!fast_accum) return launch<TileTraits<Kind, promoted_runtime_shape>>(args, a, b, type, run);
  launch<TileTraits<Kind, config>>(args, a, b, type, run);
}

// fast_accum: the tensor cores may accumulate over all of k, so a kernel without promotion may be used.
template <class Kind, bool promotes = false>
void run_tiles(WgmmaLaunch& sub_problem, CUtensorMapDataType type, bool fast_accum, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  apply_plan(sub_problem.plan, sub_problem.args, run);
  if (sub_problem.misaligned != MisalignedOperand::neither) {
    MisalignedArgs args{sub_problem.args,
                        {},
                        sub_problem.alignment,
                        sub_problem.misaligned == MisalignedOperand::b,
                        static_cast<std::int32_t>(sub_problem.copied_rows)};
    return launch<TileTraits<Kind, misaligned_config<promotes>>>(args, sub_problem.a, sub_problem.b, type,
                                                                 run);
  }
  if constexpr (std::is_same_v<typename Kind::Accumulator, float>)
    if (sub_problem.plan.tile == segmented_tile)
      return launch<TileTraits<Kind, segmented_config<promotes>>>(sub_problem.args, sub_problem.a,
                                                                  sub_problem.b, type, run);
  using Launch = decltype(&launch_tile<Kind, promotes, 0>);
  static constexpr Launch launches[] = {launch_tile<Kind, promotes, 0>, launch_tile<Kind, promotes, 1>,
                                        launch_tile<Kind, promotes, 2>, launch_tile<Kind, promotes, 3>,
                                        launch_tile<Kind, promotes, 4>, launch_tile<Kind, promotes, 5>,
                                        launch_tile<Kind, promotes, 6>};
  static_assert(std::size(launches) == tile_count);
  launches[sub_problem.plan.tile](sub_problem.args, sub_problem.a, sub_problem.b, type, fast_accum, run);
}

}  // namespace tessera::matmul
