// SPDX-License-Identifier: Apache-2.0
// From a part of C and its plan to one launch of a wgmma kernel: kernel, tensor maps, cluster. Included by
// one translation unit for each element type.
#pragma once
#include <algorithm>
#include <iterator>
#include <mutex>
#include "ops/matmul/kernels/hopper/wgmma_job.cuh"
#include "ops/matmul/kernels/hopper/wgmma_kernel.cuh"

namespace tessera::matmul {

inline constexpr int most_devices = 64;

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

enum class Blocks { persistent, one_per_tile };

// Returns the number of clusters of a kernel that are resident at the same time; asks CUDA once for each
// kernel, device and cluster size. A MIG instance and the whole GPU have one index: the second of them asks
// each time.
template <class C, auto kernel>
int max_active_clusters(const Device& device, int cluster, const cudaLaunchConfig_t& config) {
  struct Cached {
    std::once_flag once;
    int processors = 0, clusters = 0;
  };
  const auto ask = [&] {
    int clusters = 0;
    cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::shared_bytes));
    cuda::check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
    return clusters;
  };
  static Cached cached[most_devices][most_cluster_blocks];
  Cached& entry = cached[device.index % most_devices][cluster - 1];
  std::call_once(entry.once, [&] {
    entry.processors = device.processors;
    entry.clusters = ask();
  });
  return entry.processors == device.processors ? entry.clusters : ask();
}

// Returns the lines of a TMA box: the tile's, or those of C if it has fewer.
inline int lines_of_box(std::int64_t lines, int tile) {
  return static_cast<int>(std::min<std::int64_t>(round_up(lines, 8), tile));
}

// Encodes the tensor maps of A and B. `type`: their elements' type for the TMA.
template <class C>
void make_operand_maps(WgmmaArgs& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type) {
  constexpr int box = 128 / C::element_bytes;
  const TileSize size = size_of_tile<C>(args);
  // Without multicast, rows and columns beyond C are not loaded.
  const int a_rows = size.cluster_cols == 1 && !C::mn_major_a ? lines_of_box(args.m, size.rows)
                                                              : size.rows / size.cluster_cols,
            b_cols = size.cluster_rows == 1 && !C::mn_major_b ? lines_of_box(args.n, size.cols)
                                                              : size.cols / size.cluster_rows;
  args.a_bytes = a_rows * size.cluster_cols * 128;
  args.b_bytes = b_cols * size.cluster_rows * 128;
  args.a_lines = a_rows;
  args.b_lines = b_cols;
  if (args.depth > 0) {  // with k = 0 nothing is loaded
    args.a = cuda::tensor_map(a.lines, type, C::element_bytes, C::mn_major_a ? box : a_rows);
    args.b = cuda::tensor_map(b.lines, type, C::element_bytes, C::mn_major_b ? box : b_cols);
  }
}

// The same with misaligned rows of one operand.
template <class C>
void make_misaligned_maps(MisalignedArgs& args, const TmaOperand& a, const TmaOperand& b,
                          CUtensorMapDataType type) {
  const cuda::Lines& lines = (args.of_b ? b : a).lines;
  const MatrixRef read{lines.data, C::element_bytes, lines.count, lines.length, lines.stride, 1};
  const std::int64_t count = args.zeros.count();
  const int a_rows = lines_of_box(args.of_b ? args.m : ceil_div(args.m, count), C::rows),
            b_cols = lines_of_box(args.of_b ? ceil_div(args.n, count) : args.n, C::cols);
  args.a_bytes = a_rows * 128;
  args.b_bytes = b_cols * 128;
  for (int i = 0; i < count; ++i)
    args.lines[i] = cuda::tensor_map(lines_of_remainder(read, args.zeros, i), type, C::element_bytes,
                                     args.of_b ? b_cols : a_rows);
  if (args.of_b) args.a = cuda::tensor_map(a.lines, type, C::element_bytes, a_rows);
  else args.b = cuda::tensor_map(b.lines, type, C::element_bytes, b_cols);
}

template <class C>
void make_maps(typename C::Args& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type) {
  if constexpr (C::misaligned_rows) make_misaligned_maps<C>(args, a, b, type);
  else make_operand_maps<C>(args, a, b, type);
  args.plain = is_plain(args);
  args.tma_store = can_tma_store(args) && !C::misaligned_rows;
  if constexpr (can_overlap_epilogue<C>)
    args.overlaps_epilogue = args.tma_store && size_of(args.out_element) == 2 && args.order.splits == 1 &&
                             args.units == args.main_units && args.depth >= least_overlapped_depth<2>;
  if (args.tma_store)
    args.c = cuda::tensor_map(result_lines(args), map_type(args.out_element),
                              static_cast<int>(size_of(args.out_element)), 16);
}

// is_cooperative(max_active): true if blocks wait for each other; at most `max_active` clusters are resident.
// It may set args.
template <class C, auto kernel, class Args, class IsCooperative>
void launch_cluster_kernel(int threads, const Args& args, std::int32_t units, Blocks blocks, int cluster,
                           const Run& run, const IsCooperative& is_cooperative) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(cluster);
  config.blockDim = static_cast<unsigned>(threads);
  config.dynamicSmemBytes = C::shared_bytes;
  config.stream = static_cast<cudaStream_t>(run.stream);
  config.attrs = attributes;
  config.numAttrs = 1;
  const int max_active = max_active_clusters<C, kernel>(*run.device, cluster, config);
  // Blocks that wait for each other must all be resident: a cooperative launch. Others use PDL.
  if (is_cooperative(max_active)) {
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
  } else {
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
  }
  config.numAttrs = 2;
  const int clusters = blocks == Blocks::persistent ? std::min(max_active, units) : units;
  config.gridDim = static_cast<unsigned>(clusters * cluster);
  cuda::check(cudaLaunchKernelEx(&config, kernel, args));
}

template <class C, auto kernel>
void launch_tiles(int threads, typename C::Args& args, const TmaOperand& a, const TmaOperand& b,
                  CUtensorMapDataType type, Blocks blocks, const Run& run) {
  make_maps<C>(args, a, b, type);
  // The cluster reduction uses the ring, so the next tile's stages cannot arrive meanwhile.
  if (args.cluster_splits > 1) blocks = Blocks::one_per_tile;
  const int cluster = (C::any_size ? args.size.cluster() : C::cluster) * args.cluster_splits;
  launch_cluster_kernel<C, kernel>(threads, args, args.units, blocks, cluster, run, [&](int max_active) {
    // With one slice of columns the last block to arrive reduces, and no block waits.
    return args.all_resident = split_slices<C> > 1 && args.order.splits > 1 && args.units <= max_active;
  });
}

inline void apply_plan(const TilePlan& plan, WgmmaArgs& args, const Run& run) {
  args.order = plan.order;
  args.tail = plan.tail;
  args.size = plan.size;
  args.main_units = static_cast<std::int32_t>(plan.order.count());
  args.units = static_cast<std::int32_t>(plan.units);
  args.depth = plan.depth;
  args.split_depth = plan.split_depth;
  args.cluster_splits = plan.cluster_splits;
  args.arrived = static_cast<std::uint32_t*>(run.workspace);
  args.partial = static_cast<char*>(run.workspace) + counter_bytes;
}

// The configurations of tile_costs. Promoted kernels replace the first and the fifth (below).
template <bool promoted>
inline constexpr TileConfig tile_configs[] = {
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4, .cluster_rows = 2},
    {.rows = 128, .cols = 128, .consumers = 2, .stages = 6, .cluster_split_k = true, .promoted = promoted},
    {.rows = 128, .cols = 64, .consumers = 2, .stages = 8, .cluster_split_k = true, .promoted = promoted},
    {.rows = 64, .cols = 64, .consumers = 1, .stages = 12, .promoted = promoted},
    {.rows = 192, .cols = 192, .consumers = 3, .stages = most_any_stages, .any_size = true},
    {.rows = 128, .cols = 256, .consumers = 2, .stages = 4},
    {.rows = 64, .cols = 128, .consumers = 1, .stages = 8}};
// Promotion needs registers for a k tile's accumulators: the first tile has half the columns and twice the
// rows, the fifth, of runtime shape, fewer rows.
inline constexpr TileConfig promoted_large{
    .rows = 256, .cols = 128, .consumers = 2, .stages = 4, .cluster_cols = 2, .promoted = true};
inline constexpr TileConfig promoted_fifth{
    .rows = 128, .cols = 192, .consumers = 2, .stages = most_any_stages, .promoted = true, .any_size = true};

template <bool promoted>
inline constexpr TileConfig misaligned_config = [] {
  TileConfig out = tile_configs<promoted>[misaligned_tile_shape];
  out.misaligned_rows = true;
  return out;
}();

template <class C>
void launch(typename C::Args& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type,
            const Run& run) {
  int threads = C::threads;
  if constexpr (C::any_size) {
    args.stages = stages_of(args.size);
    threads = (args.size.rows / any_rows + 1) * 128;
  }
  launch_tiles<C, multiply_tiles<C>>(threads, args, a, b, type, Blocks::persistent, run);
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
    launch<Tile<Kind, mn_major>>(args, a, b, type, run);
  };
  if (a.mn_major && b.mn_major) return with.template operator()<true, true>();
  if (a.mn_major) return with.template operator()<true, false>();
  with.template operator()<false, true>();
}

// `promotes`: the tensor cores accumulate this type with too few bits for long sums.
template <class Kind, bool promotes, int tile>
void launch_tile(WgmmaArgs& args, const TmaOperand& a, const TmaOperand& b, CUtensorMapDataType type,
                 bool fast, const Run& run) {
  constexpr TileConfig config = tile_configs<promotes>[tile];
  if constexpr (Kind::supports_mn_major && (mn_major_tiles >> tile & 1) != 0)
    if (a.mn_major || b.mn_major) return launch_mn_major<Kind, config>(args, a, b, type, run);
  if constexpr (promotes && tile == 0)
    if (!fast) return launch<Tile<Kind, promoted_large>>(args, a, b, type, run);
  if constexpr (promotes && tile == 4)
    if (!fast) return launch<Tile<Kind, promoted_fifth>>(args, a, b, type, run);
  launch<Tile<Kind, config>>(args, a, b, type, run);
}

// fast: a kernel without promotion may be used.
template <class Kind, bool promotes = false>
void run_tiles(WgmmaLaunch& part, CUtensorMapDataType type, bool fast, Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  apply_plan(part.plan, part.args, run);
  if (part.misaligned != MisalignedOperand::neither) {
    MisalignedArgs args{part.args,
                        {},
                        part.zeros,
                        part.misaligned == MisalignedOperand::b,
                        static_cast<std::int32_t>(part.copied_lines)};
    return launch<Tile<Kind, misaligned_config<promotes>>>(args, part.a, part.b, type, run);
  }
  using Launch = decltype(&launch_tile<Kind, promotes, 0>);
  static constexpr Launch launches[] = {launch_tile<Kind, promotes, 0>, launch_tile<Kind, promotes, 1>,
                                        launch_tile<Kind, promotes, 2>, launch_tile<Kind, promotes, 3>,
                                        launch_tile<Kind, promotes, 4>, launch_tile<Kind, promotes, 5>,
                                        launch_tile<Kind, promotes, 6>};
  static_assert(std::size(launches) == tile_count);
  launches[part.plan.tile](part.args, part.a, part.b, type, fast, run);
}

}  // namespace tessera::matmul
