// SPDX-License-Identifier: Apache-2.0
// The wgmma kernels: multiply_tiles, warp-specialized (rungs 14 to 16), and
// multiply_one_warpgroup, in which one warpgroup loads and multiplies (rung 13).
//
// In multiply_tiles one producer warpgroup loads (produce) and the consumer warpgroups multiply (consume),
// with a pipeline of stages in shared memory between them. With GridMode::persistent a cluster
// loops over work units, and the next tile's loads complete during the previous tile's epilogue. The blocks
// of a cluster multicast the slices of A and B that several of them need.
//
// This file has the mainloop first, then the overlapped epilogue: a tile's results, rounded to 16 bits, stay
// in half as many registers as its accumulators, and are stored during the next tile's mainloop.
#pragma once
#include "ops/matmul/kernels/wgmma/wgmma_args.cuh"
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"
#include "ops/matmul/kernels/wgmma/wgmma_epilogue.cuh"

namespace tessera::matmul {

// A block's coordinate in its cluster, and the multicast masks of the blocks that need the same rows of A, or
// the same columns of B.
template <class Traits>
struct BlockCoordInCluster {
  int cluster_rows, cluster_cols;
  std::uint32_t row, col;  // position of the block in its cluster

  __device__ explicit BlockCoordInCluster(std::uint32_t rank, int rows = Traits::cluster_rows,
                                          int cols = Traits::cluster_cols)
      : cluster_rows(rows),
        cluster_cols(cols),
        row(rank % static_cast<std::uint32_t>(rows)),
        col(rank / static_cast<std::uint32_t>(rows)) {}
  __device__ std::uint16_t multicast_mask_a() const {
    std::uint32_t out = 0;
#pragma unroll
    for (int i = 0; i < cluster_cols; ++i) out |= 1u << (row + static_cast<std::uint32_t>(i * cluster_rows));
    return static_cast<std::uint16_t>(out);
  }
  __device__ std::uint16_t multicast_mask_b() const {
    return static_cast<std::uint16_t>(((1u << cluster_rows) - 1)
                                      << (col * static_cast<std::uint32_t>(cluster_rows)));
  }
};

template <class Traits>
__device__ __forceinline__ BlockCoordInCluster<Traits> block_coord_in_cluster(const WgmmaArgs& args,
                                                                              std::uint32_t rank) {
  const TileShape shape = shape_of_tile<Traits>(args);
  return BlockCoordInCluster<Traits>(Traits::cluster_split_k ? 0 : rank, shape.cluster_rows,
                                     shape.cluster_cols);
}

// Loads the scales of the tile's columns of B from `col` on. The k tiles of a promotion interval share them,
// so they are loaded with the first one.
template <class Traits>
__device__ __forceinline__ void load_scales(const WgmmaArgs& args, const TileShared<Traits>& shared,
                                            int stage, int col, int k) {
  if constexpr (has_scales<typename Traits::Kind>) {
    const int k_tile = k / (128 / Traits::element_bytes);
    if (k_tile % promotion_k_tiles != 0) return;
    ptx::cp_async_bulk(shared.scales(stage),
                       args.emulation.scales_b + k_tile / promotion_k_tiles * args.emulation.stride_b + col,
                       Traits::cols * 4, shared.full(stage));
  }
}

// Returns the tensor map of A, or of B. An operand with misaligned rows has one for each alignment class.
template <class Traits, bool is_b>
__device__ __forceinline__ const CUtensorMap& tensor_map_of(const typename Traits::Args& args,
                                                            int row_class) {
  if constexpr (Traits::misaligned_rows)
    if (args.misaligned_is_b == is_b) return args.tensor_maps[row_class];
  return is_b ? args.b : args.a;
}

// Issues this block's loads of one operand, A or B, multicast to all blocks that need them. The constructor
// computes what does not depend on k. With small tiles the instructions of the loading thread would otherwise
// take longer than the multiplications.
template <class Traits, bool is_b>
class OperandLoader {
  static constexpr bool mn_major = is_b ? Traits::mn_major_b : Traits::mn_major_a;
  // For tiles of runtime shape, multicast_blocks and slice_extent are launch parameters.
  static constexpr int elements_per_swizzle_row = 128 / Traits::element_bytes,
                       multicast_blocks = is_b ? Traits::cluster_rows : Traits::cluster_cols,
                       slice_extent = (is_b ? Traits::cols : Traits::rows) / multicast_blocks,
                       boxes = mn_major ? slice_extent / elements_per_swizzle_row : 1;

 public:
  // `first`: the tile's first row of A, or column of B; `tx_bytes`: the operand's bytes in a stage, from all
  // blocks of the cluster.
  __device__ __forceinline__ OperandLoader(const TileShared<Traits>& shared, int first, int tx_bytes,
                                           const BlockCoordInCluster<Traits>& block_coord)
      : tx_bytes_(static_cast<std::uint32_t>(tx_bytes)), stage_bytes_(shared.stage_bytes()) {
    const int blocks = is_b ? block_coord.cluster_rows : block_coord.cluster_cols,
              extent = Traits::runtime_shape ? (is_b ? shared.cols : shared.rows) / blocks : slice_extent,
              offset = static_cast<int>(is_b ? block_coord.row : block_coord.col) * extent;
    first_ = first + offset;
    cta_mask_ = blocks == 1 ? 0 : is_b ? block_coord.multicast_mask_b() : block_coord.multicast_mask_a();
    // opaque(): the compiler keeps these addresses, instead of computing them again for each stage.
    slice_address_ = ptx::opaque(ptx::shared_address(is_b ? shared.b(0) : shared.a(0)) +
                                 static_cast<std::uint32_t>(offset * 128));
    full_address_ = ptx::opaque(ptx::shared_address(&shared.full(0)));
  }

  // Waits until the consumers have read the stage.
  __device__ __forceinline__ void wait_until_empty(const PipelineState<Traits>& state) const {
    ptx::mbarrier_wait(full_address_ + barrier_bytes(Traits::stages + state.index), state.phase ^ 1);
  }

  // Loads the slice from `k` on. `map`: the operand's tensor map; `layer`: the z coordinate if it is
  // three-dimensional.
  template <class... Layer>
  __device__ __forceinline__ void load(const CUtensorMap& map, int stage, int k, Layer... layer) const {
    const std::uint32_t full = full_address_ + barrier_bytes(stage),
                        slice = slice_address_ + static_cast<std::uint32_t>(stage * stage_bytes_);
    ptx::mbarrier_arrive_expect_tx(full, tx_bytes_);
#pragma unroll
    for (int i = 0; i < boxes; ++i) {
      const int x = mn_major ? first_ + i * elements_per_swizzle_row : k, y = mn_major ? k : first_;
      const std::uint32_t box = slice + static_cast<std::uint32_t>(i * elements_per_swizzle_row * 128);
      if (Traits::runtime_shape ? cta_mask_ != 0 : multicast_blocks > 1)
        ptx::tma_load_multicast(cta_mask_, box, map, x, y, layer..., full);
      else ptx::tma_load(box, map, x, y, layer..., full);
    }
  }

 private:
  __device__ __forceinline__ static std::uint32_t barrier_bytes(int count) {
    return static_cast<std::uint32_t>(count) * static_cast<std::uint32_t>(sizeof(ptx::Mbarrier));
  }

  std::uint32_t slice_address_, full_address_, tx_bytes_;
  int first_, stage_bytes_;
  std::uint16_t cta_mask_;  // 0: no multicast
};

// Return the index of a split's first k tile, and the number of its k tiles.
__device__ __forceinline__ int first_k_tile(const WgmmaArgs& args, int split) {
  return split * args.k_tiles_per_split;
}
__device__ __forceinline__ int k_tiles_of_split(const WgmmaArgs& args, int split) {
  const int remaining = args.k_tile_count - first_k_tile(args, split);
  return remaining < args.k_tiles_per_split ? remaining : args.k_tiles_per_split;
}

// Returns the number of k tiles of a unit of work. A segmented tile's unit has all parts of the sum.
template <class Traits>
__device__ __forceinline__ int k_tiles_of_unit(const WgmmaArgs& args, int split) {
  return Traits::segmented ? args.k_tile_count : k_tiles_of_split(args, split);
}

// Return the index of this cluster's first work unit, and the distance between its consecutive ones.
__device__ __forceinline__ std::int32_t first_unit(int cluster_size) {
  return static_cast<std::int32_t>(blockIdx.x) / cluster_size;
}
__device__ __forceinline__ std::int32_t work_unit_stride(int cluster_size) {
  return static_cast<std::int32_t>(gridDim.x) / cluster_size;
}
template <class Traits>
__device__ __forceinline__ int split_of(TileOrder::Tile tile, std::uint32_t rank) {
  return Traits::cluster_split_k ? static_cast<int>(rank) : tile.split;
}

inline constexpr int k_blocks_per_stage = 4;  // 32 bytes of k each

// Executed by each consumer warpgroup once it has read `stage`: arrives once at the stage's `empty` barrier
// in each block of `empty_mask`, the blocks that multicast to this one. The barrier expects a fixed count:
// consumer warpgroups × (cluster_rows + cluster_cols - 1), for the blocks of the same cluster row or column.
template <class Traits>
__device__ __forceinline__ void release(const TileShared<Traits>& shared, int stage,
                                        std::uint32_t empty_mask) {
  const int thread_in_warpgroup = static_cast<int>(threadIdx.x) % 128;
  if constexpr (Traits::cluster_size == 1) {
    if (thread_in_warpgroup < Traits::cluster_rows + Traits::cluster_cols - 1)
      ptx::mbarrier_arrive(shared.empty(stage));
  } else {
    if (thread_in_warpgroup < Traits::cluster_size && (empty_mask >> thread_in_warpgroup & 1) != 0)
      ptx::mbarrier_arrive_cluster(shared.empty(stage), static_cast<std::uint32_t>(thread_in_warpgroup));
  }
}

// Issues one wgmma for k block `k_block` of a stage and the tile's 64 rows from `row` on.
template <class Traits, int cols>
__device__ __forceinline__ void issue_wgmma(const TileShared<Traits>& shared, int stage, int row,
                                            typename Traits::Accumulator (&accum)[cols / 2], int k_block,
                                            bool accumulate) {
  using Wgmma = ptx::Wgmma<typename Traits::Kind, cols, Traits::mn_major_a, Traits::mn_major_b>;
  constexpr int elements_per_swizzle_row = 128 / Traits::element_bytes,
                k_per_block = elements_per_swizzle_row / k_blocks_per_stage;
  const unsigned char *const a = shared.a(stage), *const b = shared.b(stage);
  const std::uint64_t desc_b =
      Traits::mn_major_b
          ? ptx::matrix_descriptor(b + k_block * k_per_block * 128, 1024, elements_per_swizzle_row * 128)
          : ptx::matrix_descriptor(b + k_block * 32, 1024, 0);
  const std::uint64_t desc_a = Traits::mn_major_a
                                   ? ptx::matrix_descriptor(a + row * 128 + k_block * k_per_block * 128, 1024,
                                                            elements_per_swizzle_row * 128)
                                   : ptx::matrix_descriptor(a + row * 128 + k_block * 32, 1024, 0);
  Wgmma::mma_async(accum, desc_a, desc_b, accumulate ? 1 : 0);
}

// Issues all wgmmas of one stage, for the tile's rows from `row` on, and commits them as one group.
template <class Traits, int cols = Traits::cols>
__device__ __forceinline__ void multiply_stage(
    const TileShared<Traits>& shared, int stage, int row,
    typename Traits::Accumulator (&accum)[Traits::m_tiles][cols / 2], bool accumulate) {
  ptx::wgmma_fence();
#pragma unroll
  for (int k_block = 0; k_block < k_blocks_per_stage; ++k_block)
#pragma unroll
    for (int m = 0; m < Traits::m_tiles; ++m)
      issue_wgmma<Traits, cols>(shared, stage, row + m * 64, accum[m], k_block, accumulate || k_block > 0);
  ptx::wgmma_commit_group();
}

// Accumulates k tiles [from, end). `pending_stage`: the stage whose wgmma group may be pending, or -1.
template <class Traits, int cols>
__device__ __forceinline__ void add_k_tiles(
    const TileShared<Traits>& shared, PipelineState<Traits>& state, int from, int end, int row,
    std::uint32_t empty_mask, int& pending_stage,
    typename Traits::Accumulator (&accum)[Traits::m_tiles][cols / 2]) {
  for (int i = from; i < end; ++i) {
    ptx::mbarrier_wait(shared.full(state.index), state.phase);
    multiply_stage<Traits, cols>(shared, state.index, row, accum, i > 0);
    ptx::wgmma_wait_group<1>();
    if (pending_stage >= 0) release<Traits>(shared, pending_stage, empty_mask);
    pending_stage = state.index;
    state.advance();
  }
}

template <class Traits, int cols>
__device__ __forceinline__ void finish_accumulators(
    const TileShared<Traits>& shared, int pending_stage, std::uint32_t empty_mask,
    typename Traits::Accumulator (&accum)[Traits::m_tiles][cols / 2]) {
  ptx::wgmma_wait_group<0>();
#pragma unroll
  for (int m = 0; m < Traits::m_tiles; ++m) ptx::fence_accumulators(accum[m]);
  if (pending_stage >= 0) release<Traits>(shared, pending_stage, empty_mask);
}

// Accumulates all k tiles of a tile of C.
template <class Traits, int cols>
__device__ __forceinline__ void sum_k_tiles(
    const TileShared<Traits>& shared, PipelineState<Traits>& state, int count, int row,
    std::uint32_t empty_mask, typename Traits::Accumulator (&accum)[Traits::m_tiles][cols / 2]) {
  int pending_stage = -1;
  add_k_tiles<Traits, cols>(shared, state, 0, count, row, empty_mask, pending_stage, accum);
  finish_accumulators<Traits, cols>(shared, pending_stage, empty_mask, accum);
}

// Accumulates each k tile separately and adds its accumulators to `accum` in f32 (promotion). The consumer
// warpgroups are not synchronized: while one adds, another may multiply.
template <class Traits, int cols>
__device__ __forceinline__ void promote_k_tiles(
    const TileShared<Traits>& shared, PipelineState<Traits>& state, int count, int row,
    std::uint32_t empty_mask, typename Traits::Accumulator (&accum)[Traits::m_tiles][cols / 2]) {
  // Initialised so that the accumulators' live range does not extend back over the previous tile.
  typename Traits::Accumulator partial_acc[cols / 2] = {};
  for (int i = 0; i < count; ++i) {
    ptx::mbarrier_wait(shared.full(state.index), state.phase);
#pragma unroll
    for (int m = 0; m < Traits::m_tiles; ++m) {
      ptx::wgmma_fence();
#pragma unroll
      for (int k_block = 0; k_block < k_blocks_per_stage; ++k_block)
        issue_wgmma<Traits, cols>(shared, state.index, row + m * 64, partial_acc, k_block, k_block > 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      ptx::fence_accumulators(partial_acc);
      if (m + 1 == Traits::m_tiles) release<Traits>(shared, state.index, empty_mask);
#pragma unroll
      for (int j = 0; j < cols / 2; ++j) accum[m][j] += partial_acc[j];
    }
    state.advance();
  }
}

// Issues the wgmmas [from, to) of Kind's list of component pairs (emulated FP32), for 64 rows of a stage from
// row `row` on.
template <class Traits, int from, int to>
__device__ __forceinline__ void multiply_components(const TileShared<Traits>& shared, int stage, int row,
                                                    float (&accum)[Traits::accumulators], bool accumulate) {
  using Kind = typename Traits::Kind;
  using Wgmma = ptx::Wgmma<typename Kind::Component, Traits::cols, 0, 0>;
  const unsigned char *const a = shared.a(stage) + row * 128, *const b = shared.b(stage);
#pragma unroll
  for (int i = from; i < to; ++i)
    Wgmma::mma_async(accum, ptx::matrix_descriptor(a + Kind::product(i).a * 32, 1024, 0),
                     ptx::matrix_descriptor(b + Kind::product(i).b * 32, 1024, 0),
                     accumulate || i > from ? 1 : 0);
}

// Synchronizes one consumer warpgroup at its named barrier. OrderedSequenceBarrier has the numbers before.
__device__ __forceinline__ void sync_consumer_warpgroup(int consumer) {
  constexpr int first_barrier = 10;
  ptx::named_barrier_sync(first_barrier + consumer, 128);
}

// Makes the two consumer warpgroups issue their wgmmas alternately, so that one multiplies while the other
// adds in f32 (as in FlashAttention-3; unlike in CUTLASS's KernelPingpong both work on one tile). Otherwise
// both would issue, and then add, at the same time, while the tensor cores idle.
template <class Traits>
struct OrderedSequenceBarrier {
  static constexpr bool enabled = IsEmulatedFp32<typename Traits::Kind> && Traits::consumer_warpgroups == 2 &&
                                  Traits::ordered_wgmma_issue;
  static constexpr int first_barrier = 8, threads = 256;

  // Once, before the first wait().
  __device__ __forceinline__ static void begin(int consumer) {
    if constexpr (enabled)
      if (consumer == 1) ptx::named_barrier_arrive(first_barrier, threads);
  }
  __device__ __forceinline__ static void wait(int consumer) {
    if constexpr (enabled) ptx::named_barrier_sync(first_barrier + consumer, threads);
  }
  __device__ __forceinline__ static void arrive_next(int consumer) {
    if constexpr (enabled) ptx::named_barrier_arrive(first_barrier + 1 - consumer, threads);
  }
  // Once, after the last arrive_next(): completes the barrier's open phase.
  __device__ __forceinline__ static void end(int consumer) {
    if constexpr (enabled)
      if (consumer == 0) ptx::named_barrier_sync(first_barrier, threads);
  }
};

// promote_k_tiles() for emulated FP32. Each promotion interval is accumulated separately, multiplied by its
// row and column scales, and added to `accum`. Within an interval the small products are issued first.
// `first_k_tile`: the index along k of the first k tile; `c_row_stride`, `row_in_tile`: this consumer's first
// row in C and in the tile.
template <class Traits>
__device__ __forceinline__ void promote_components(const WgmmaArgs& args, const TileShared<Traits>& shared,
                                                   PipelineState<Traits>& state, int first_k_tile, int count,
                                                   int row_in_tile, int c_row_stride, int consumer,
                                                   std::uint32_t empty_mask,
                                                   float (&accum)[Traits::m_tiles][Traits::accumulators]) {
  constexpr int cols = Traits::cols;
  constexpr bool scaled = has_scales<typename Traits::Kind>;
  constexpr int small_product_count = Traits::Kind::small_products;
#pragma unroll
  for (int i = 0; i < Traits::m_tiles * (cols / 2); ++i) accum[i / (cols / 2)][i % (cols / 2)] = 0;
  float partial_acc[cols / 2] = {};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* scales_a = nullptr;
  if constexpr (scaled)
    scales_a = args.emulation.scales_a + first_k_tile / promotion_k_tiles * args.emulation.stride_a +
               c_row_stride + static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4;
  for (int i = 0; i < count; i += promotion_k_tiles) {
    float scale_a[Traits::m_tiles][2];
    if constexpr (scaled) {
#pragma unroll
      for (int m = 0; m < Traits::m_tiles; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) scale_a[m][half] = __ldg(scales_a + m * 64 + half * 8);
      scales_a += args.emulation.stride_a;
    }
    const int stage = state.index;
#pragma unroll
    for (int m = 0; m < Traits::m_tiles; ++m) {
      if (m == 0) {
        ptx::mbarrier_wait(shared.full(stage), state.phase);
        ptx::mbarrier_wait(shared.full(stage + 1), state.phase);
      }
      OrderedSequenceBarrier<Traits>::wait(consumer);
      ptx::wgmma_fence();
      const int first_row = row_in_tile + m * 64;
      multiply_components<Traits, 0, small_product_count>(shared, stage, first_row, partial_acc, false);
      multiply_components<Traits, 0, small_product_count>(shared, stage + 1, first_row, partial_acc, true);
      multiply_components<Traits, small_product_count, products_per_k_tile>(shared, stage, first_row,
                                                                            partial_acc, true);
      multiply_components<Traits, small_product_count, products_per_k_tile>(shared, stage + 1, first_row,
                                                                            partial_acc, true);
      ptx::wgmma_commit_group();
      OrderedSequenceBarrier<Traits>::arrive_next(consumer);
      ptx::wgmma_wait_group<0>();
      ptx::fence_accumulators(partial_acc);
      if (m + 1 == Traits::m_tiles) {
        release<Traits>(shared, stage + 1, empty_mask);
        if (!scaled) release<Traits>(shared, stage, empty_mask);
      }
      if constexpr (scaled) {
        const float* const scales_b = shared.scales(stage) + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < cols / 2; j += 4) {
          const float2 scale_b = *reinterpret_cast<const float2*>(scales_b + 2 * j);
          accum[m][j] = __fmaf_rn(partial_acc[j], scale_a[m][0] * scale_b.x, accum[m][j]);
          accum[m][j + 1] = __fmaf_rn(partial_acc[j + 1], scale_a[m][0] * scale_b.y, accum[m][j + 1]);
          accum[m][j + 2] = __fmaf_rn(partial_acc[j + 2], scale_a[m][1] * scale_b.x, accum[m][j + 2]);
          accum[m][j + 3] = __fmaf_rn(partial_acc[j + 3], scale_a[m][1] * scale_b.y, accum[m][j + 3]);
        }
        if (m + 1 == Traits::m_tiles) {
          sync_consumer_warpgroup(consumer);
          release<Traits>(shared, stage, empty_mask);
        }
      } else {
#pragma unroll
        for (int j = 0; j < cols / 2; ++j) accum[m][j] += partial_acc[j];
      }
    }
    state.advance();
    state.advance();
  }
}

// Accumulates `count` k tiles. The accumulators are zeroed if promoted (they are added to), if there is no
// k tile, and, with more than one M tile, so that the accumulators' live range does not extend back over the
// previous tile.
template <class Traits, int cols>
__device__ __forceinline__ void accumulate_tile(
    const TileShared<Traits>& shared, PipelineState<Traits>& state, int count, int row,
    std::uint32_t empty_mask, typename Traits::Accumulator (&accum)[Traits::m_tiles][cols / 2]) {
  constexpr int accumulators = cols / 2;
  if (count <= 0 || Traits::promoted || Traits::m_tiles > 1)
#pragma unroll
    for (int i = 0; i < Traits::m_tiles * accumulators; ++i) accum[i / accumulators][i % accumulators] = 0;
  if constexpr (Traits::promoted) promote_k_tiles<Traits, cols>(shared, state, count, row, empty_mask, accum);
  else sum_k_tiles<Traits, cols>(shared, state, count, row, empty_mask, accum);
}

// Accumulates `count` k tiles in segments of `segment` k tiles, and adds the segments' sums in order. -0 is
// the sum of nothing: it leaves the first segment's bits unchanged, as split-K does.
template <class Traits, int cols>
__device__ __forceinline__ void accumulate_segments(const TileShared<Traits>& shared,
                                                    PipelineState<Traits>& state, int count, int segment,
                                                    int row, std::uint32_t empty_mask,
                                                    typename Traits::Accumulator (&accum)[1][cols / 2]) {
#pragma unroll
  for (int j = 0; j < cols / 2; ++j) accum[0][j] = -0.0f;
  typename Traits::Accumulator part[1][cols / 2] = {};  // initialised as in promote_k_tiles()
#pragma unroll 1
  for (int from = 0; from < count; from += segment) {
    accumulate_tile<Traits, cols>(shared, state, min(segment, count - from), row, empty_mask, part);
#pragma unroll
    for (int j = 0; j < cols / 2; ++j) accum[0][j] += part[0][j];
  }
}

// Dispatches to the instantiation of accumulate_tile() for this tile's number of columns, a multiple of
// `granularity`, because N is part of the wgmma instruction.
template <class Traits, int granularity = Traits::segmented ? segmented_cols : cols_granularity,
          int cols = granularity>
__device__ __forceinline__ void accumulate_runtime_shape(
    const TileShared<Traits>& shared, PipelineState<Traits>& state, int count, int segment, int row,
    std::uint32_t empty_mask, typename Traits::Accumulator (&accum)[Traits::m_tiles][Traits::accumulators]) {
  using First = typename Traits::Accumulator[Traits::m_tiles][cols / 2];
  static_assert(Traits::m_tiles == 1);
  if (shared.cols == cols || cols == Traits::cols) {
    First& first = reinterpret_cast<First&>(accum);
    if constexpr (Traits::segmented)
      accumulate_segments<Traits, cols>(shared, state, count, segment, row, empty_mask, first);
    else accumulate_tile<Traits, cols>(shared, state, count, row, empty_mask, first);
  } else if constexpr (cols < Traits::cols) {
    accumulate_runtime_shape<Traits, granularity, cols + granularity>(shared, state, count, segment, row,
                                                                      empty_mask, accum);
  }
}

// True for the tiles that can have the overlapped epilogue: those with one M tile per consumer, 256 columns,
// f32 accumulators and operands of at most 2 bytes, without promotion and without split-K over a cluster. A
// thread has 128 accumulators, which leaves registers for 64 packed pairs of the previous tile's results.
// 256 columns take four stores, the number that min_overlapped_k_tiles and store_last() assume.
template <class Traits>
inline constexpr bool can_overlap_epilogue =
    !Traits::promoted && !Traits::cluster_split_k && Traits::m_tiles == 1 && Traits::cols == 256 &&
    Traits::Kind::bytes <= 2 && std::is_same_v<typename Traits::Accumulator, float>;

// Holds one consumer's 64 rows of a tile, as pairs of 16-bit results, until they are stored.
template <class Traits>
struct OverlappedEpilogue {
  static constexpr int store_count = Traits::accumulators / 32;  // stores of 64 columns
  static_assert(store_count == 4);                               // see min_overlapped_k_tiles
  std::uint32_t pairs[Traits::accumulators / 2];
  int row = 0, col = 0;

  template <class Out>
  __device__ __forceinline__ void round_as(float scale, const float (&accum)[Traits::accumulators]) {
    if (scale == 1) {
#pragma unroll
      for (int i = 0; i < Traits::accumulators / 2; ++i)
        pairs[i] = pair_of(Out{}, accum[2 * i], accum[2 * i + 1]);
    } else {
#pragma unroll
      for (int i = 0; i < Traits::accumulators / 2; ++i)
        pairs[i] = pair_of(Out{}, scale * accum[2 * i], scale * accum[2 * i + 1]);
    }
  }
  __device__ __forceinline__ void round(const WgmmaArgs& args, float scale,
                                        const float (&accum)[Traits::accumulators]) {
    if (args.c_element == Element::f16) round_as<__half>(scale, accum);
    else round_as<__nv_bfloat16>(scale, accum);
  }

  // Writes 64 columns to a staging buffer.
  __device__ __forceinline__ void fill(unsigned char* staging, int store_index) const {
    const int thread_in_warpgroup = opaque_thread_index() % 128, lane = thread_in_warpgroup % 32,
              r = thread_in_warpgroup / 32 * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const std::uint32_t* const at = pairs + 2 * (store_index * 8 + j);
      ptx::stmatrix_x4(staging + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, at[0], at[1], at[2], at[3]);
    }
  }
  __device__ __forceinline__ void issue_tma_store(const WgmmaArgs& args, const unsigned char* staging,
                                                  int store_index) const {
    const int warp = opaque_thread_index() % 128 / 32;
    ptx::tma_store(args.c, staging + warp * 16 * 128, col + store_index * 64, row + warp * 16);
    ptx::tma_store_commit_group();
  }

  // Issues `count` stores through the two staging buffers, which the stores use alternately.
  template <int count>
  __device__ __forceinline__ void store(const WgmmaArgs& args, const TileShared<Traits>& shared, int consumer,
                                        int store_index) const {
    const auto staging = [&](int i) {
      return shared.epilogue_smem(consumer) + i % 2 * Traits::staging_buffer_bytes;
    };
    const bool is_lane0 = opaque_thread_index() % 32 == 0;
    if (is_lane0) ptx::tma_store_wait_group_read<2 - count>();
    __syncwarp();
#pragma unroll
    for (int i = store_index; i < store_index + count; ++i) fill(staging(i), i);
    ptx::fence_proxy_async();
    __syncwarp();
#pragma unroll
    for (int i = store_index; i < store_index + count; ++i)
      if (is_lane0) issue_tma_store(args, staging(i), i);
  }

  // Stores a block's last tile through A's stages, which no load overwrites any more.
  __device__ __forceinline__ void store_last(const WgmmaArgs& args, const TileShared<Traits>& shared,
                                             int consumer) const {
    static_assert(store_count <= Traits::stages && Traits::cluster_cols == 1 &&
                  Traits::a_bytes == Traits::consumer_warpgroups * Traits::staging_buffer_bytes);
#pragma unroll
    for (int store_index = 0; store_index < store_count; ++store_index) {
      unsigned char* const staging = shared.a(store_index) + consumer * Traits::staging_buffer_bytes;
      fill(staging, store_index);
      ptx::fence_proxy_async();
      __syncwarp();
      if (opaque_thread_index() % 32 == 0) issue_tma_store(args, staging, store_index);
    }
  }
};

// consume() with the overlapped epilogue, for launches without split-K whose C the TMA stores
// as 16-bit elements (it clips tiles at C's edge). Issues `stores_per_k_tile` stores during each k tile.
template <class Traits, int stores_per_k_tile>
__device__ void consume_overlapped(const WgmmaArgs& args, const TileShared<Traits>& shared, int consumer,
                                   std::uint32_t rank) {
  const BlockCoordInCluster<Traits> block_coord(rank);
  const std::uint32_t empty_mask = block_coord.multicast_mask_a() | block_coord.multicast_mask_b();
  const int first_row = consumer * 64;
  const float scale = EpilogueScale(args.epilogue).scale;
  std::int32_t unit = first_unit(Traits::cluster_size);
  if (unit >= args.units) return;

  PipelineState<Traits> state(shared);
  OverlappedEpilogue<Traits> pending;
  typename Traits::Accumulator accum[1][Traits::accumulators];
  ptx::mbarrier_wait(shared.full(state.index), state.phase);
  multiply_stage<Traits>(shared, state.index, first_row, accum, false);
  bool has_pending = false;
  while (true) {
    // The wgmma group of the tile's first k tile is pending.
    int pending_stage = state.index;
    state.advance();
#pragma unroll
    for (int store_index = 0; store_index < OverlappedEpilogue<Traits>::store_count;
         store_index += stores_per_k_tile) {
      ptx::mbarrier_wait(shared.full(state.index), state.phase);
      multiply_stage<Traits>(shared, state.index, first_row, accum, true);
      // Before the stores: they take long, and the stage's next load should not wait for them.
      ptx::wgmma_wait_group<1>();
      release<Traits>(shared, pending_stage, empty_mask);
      if (has_pending) pending.template store<stores_per_k_tile>(args, shared, consumer, store_index);
      pending_stage = state.index;
      state.advance();
    }
    add_k_tiles<Traits, Traits::cols>(shared, state,
                                      1 + OverlappedEpilogue<Traits>::store_count / stores_per_k_tile,
                                      args.k_tile_count - 1, first_row, empty_mask, pending_stage, accum);

    ptx::mbarrier_wait(shared.full(state.index), state.phase);
    multiply_stage<Traits>(shared, state.index, first_row, accum, true);
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    pending.row =
        (tile.row * Traits::cluster_rows + static_cast<int>(block_coord.row)) * Traits::rows + first_row;
    pending.col = (tile.col * Traits::cluster_cols + static_cast<int>(block_coord.col)) * Traits::cols;
    has_pending = true;
    ptx::wgmma_wait_group<1>();
    release<Traits>(shared, pending_stage, empty_mask);
    pending_stage = state.index;
    state.advance();
    ptx::wgmma_wait_group<0>();
    ptx::fence_accumulators(accum[0]);
    release<Traits>(shared, pending_stage, empty_mask);
    pending.round(args, scale, accum[0]);

    unit += work_unit_stride(Traits::cluster_size);
    if (unit >= args.units) break;
    ptx::mbarrier_wait(shared.full(state.index), state.phase);
    multiply_stage<Traits>(shared, state.index, first_row, accum, false);
  }
  pending.store_last(args, shared, consumer);
  if (threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

// The origin of a block's tile: a and b in the tensor maps of A and B, row and col in C.
template <class Traits>
struct TileCoord {
  int a, b, row, col, row_class = 0;

  __device__ __forceinline__ TileCoord(const typename Traits::Args& args, const TileOrder::Tile& tile,
                                       const BlockCoordInCluster<Traits>& block_coord) {
    const TileShape shape = shape_of_tile<Traits>(args);
    row = a = (tile.row * shape.cluster_rows + static_cast<int>(block_coord.row)) * shape.rows;
    col = b = (tile.col * shape.cluster_cols + static_cast<int>(block_coord.col)) * shape.cols;
    if constexpr (Traits::misaligned_rows) {
      // Neighbouring tiles take the alignment classes in turn.
      const int tile_index = args.misaligned_is_b ? tile.col : tile.row, bits = args.alignment.class_bits;
      row_class = tile_index & ((1 << bits) - 1);
      const int class_origin = (tile_index >> bits) * (args.misaligned_is_b ? Traits::cols : Traits::rows),
                c_index = (class_origin << bits) + row_class, copy = row_class * args.copied_rows;
      if (args.misaligned_is_b) b = class_origin, col = c_index, a += copy;
      else a = class_origin, row = c_index, b += copy;
    }
  }
};

// A work unit of the block: the tile's origin, the first k tile of the split and the number of k tiles.
template <class Traits>
struct WorkTile {
  static constexpr int block_k = 128 / Traits::element_bytes;
  TileCoord<Traits> origin;
  int k_tile_begin, k_tile_count;

  __device__ __forceinline__ WorkTile(const typename Traits::Args& args, const TileOrder::Tile& tile,
                                      std::uint32_t rank, const BlockCoordInCluster<Traits>& block_coord)
      : origin(args, tile, block_coord),
        k_tile_begin(first_k_tile(args, split_of<Traits>(tile, rank))),
        k_tile_count(k_tiles_of_unit<Traits>(args, split_of<Traits>(tile, rank))) {}
  __device__ __forceinline__ WorkTile(const typename Traits::Args& args, std::int32_t unit,
                                      std::uint32_t rank, const BlockCoordInCluster<Traits>& block_coord)
      : WorkTile(args, args.order.at(unit), rank, block_coord) {}
  template <bool is_b>
  __device__ __forceinline__ OperandLoader<Traits, is_b> loader(
      const typename Traits::Args& args, const TileShared<Traits>& shared,
      const BlockCoordInCluster<Traits>& block_coord) const {
    return OperandLoader<Traits, is_b>(shared, is_b ? origin.b : origin.a,
                                       is_b ? args.b_tx_bytes : args.a_tx_bytes, block_coord);
  }
  // Loads the k tile that begins at `k`.
  template <bool is_b>
  __device__ __forceinline__ void load(const OperandLoader<Traits, is_b>& operand_loader,
                                       const typename Traits::Args& args, const TileShared<Traits>& shared,
                                       int stage, int k) const {
    if constexpr (is_b) load_scales<Traits>(args, shared, stage, origin.b, k);
    operand_loader.load(tensor_map_of<Traits, is_b>(args, origin.row_class), stage, k);
  }
  // Returns the number of k tiles that load_prologue() loads before the block's first barrier. More of them
  // would delay the consumer warpgroups.
  __device__ __forceinline__ int prologue_k_tiles(int stages) const {
    return min(k_tile_count, min(stages, max_prologue_k_tiles));
  }
  static constexpr int max_prologue_k_tiles = 4;
};

// Loads the first k tiles of the first tile, by the thread that initialised the barriers. Only without
// multicast: no other block multicasts to this one's shared memory, and the consumer warpgroups pass a
// block barrier first.
template <class Traits>
__device__ __forceinline__ void load_prologue(const typename Traits::Args& args,
                                              const TileShared<Traits>& shared, std::uint32_t rank) {
  const BlockCoordInCluster<Traits> block_coord = block_coord_in_cluster<Traits>(args, rank);
  const std::int32_t unit = first_unit(cluster_blocks<Traits>(args));
  if (unit >= args.units) return;
  const WorkTile<Traits> work(args, unit, rank, block_coord);
  const OperandLoader<Traits, false> loader_a = work.template loader<false>(args, shared, block_coord);
  const OperandLoader<Traits, true> loader_b = work.template loader<true>(args, shared, block_coord);
  const int count = work.prologue_k_tiles(shared.stages);
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const int k = (work.k_tile_begin + i) * WorkTile<Traits>::block_k;
    work.template load<false>(loader_a, args, shared, i, k);
    work.template load<true>(loader_b, args, shared, i, k);
  }
}

// Executed by one thread for A, and by another for B: loads the operand for all units of work.
template <class Traits, bool is_b>
__device__ void produce(const typename Traits::Args& args, const TileShared<Traits>& shared,
                        std::uint32_t rank) {
  const BlockCoordInCluster<Traits> block_coord = block_coord_in_cluster<Traits>(args, rank);
  PipelineState<Traits> state(shared);
  const int cluster_size = cluster_blocks<Traits>(args);
  for (std::int32_t unit = first_unit(cluster_size); unit < args.units;
       unit += work_unit_stride(cluster_size)) {
    const WorkTile<Traits> work(args, unit, rank, block_coord);
    const int in_flight =
        has_no_multicast<Traits>(shape_of_tile<Traits>(args)) && unit == first_unit(cluster_size)
            ? work.prologue_k_tiles(shared.stages)
            : 0;
    state.skip(in_flight);
    const OperandLoader<Traits, is_b> loader = work.template loader<is_b>(args, shared, block_coord);
    // Unsigned, because the end may be 2^31.
    constexpr std::uint32_t block_k = WorkTile<Traits>::block_k;
    const auto end = static_cast<std::uint32_t>(work.k_tile_begin + work.k_tile_count) * block_k;
#pragma unroll 1
    for (auto k = static_cast<std::uint32_t>(work.k_tile_begin + in_flight) * block_k; k < end;
         k += block_k) {
      loader.wait_until_empty(state);
      work.template load<is_b>(loader, args, shared, state.index, static_cast<int>(k));
      state.advance();
    }
  }
}

// Zeroes the elements that precede each row's first element in the first k tile (the tensor map starts at the
// 16-byte boundary below): they may be NaN, and NaN·0 is NaN. Each consumer zeroes those that it reads.
template <class Traits>
__device__ __forceinline__ void zero_leading_elements(const typename Traits::Args& args,
                                                      const TileShared<Traits>& shared,
                                                      const PipelineState<Traits>& state, int row_class,
                                                      int first_row, int consumer) {
  if constexpr (Traits::misaligned_rows) {
    const int lead = args.alignment.misalignment_bytes(row_class);
    if (lead == 0) return;
    ptx::mbarrier_wait(shared.full(state.index), state.phase);
    unsigned char* const panel =
        args.misaligned_is_b ? shared.b(state.index) : shared.a(state.index) + first_row * 128;
    const int rows = args.misaligned_is_b ? Traits::cols : Traits::m_tiles * 64;
    for (int row = opaque_thread_index() % 128; row < rows; row += 128)
      for (int i = 0; i < lead; ++i) panel[row * 128 + row % 8 * 16 + i] = 0;  // the swizzled address
    ptx::fence_proxy_async();
    sync_consumer_warpgroup(consumer);
  }
}

template <class Traits>
inline constexpr bool can_reduce_splits =
    !IsEmulatedFp32<typename Traits::Kind> && !Traits::cluster_split_k && !Traits::segmented;

// consume() for split-K through the workspace: the block's only unit. In consume()'s loop the accumulators
// would be live during the reduction.
template <class Traits>
__device__ void consume_split(const WgmmaArgs& args, const TileShared<Traits>& shared, int consumer,
                              std::uint32_t rank) {
  const BlockCoordInCluster<Traits> block_coord = block_coord_in_cluster<Traits>(args, rank);
  const std::uint32_t empty_mask = block_coord.multicast_mask_a() | block_coord.multicast_mask_b();
  const std::int32_t unit = first_unit(cluster_blocks<Traits>(args));
  const int first_row = consumer * Traits::m_tiles * 64,
            count = k_tiles_of_split(args, args.order.at(unit).split);
  __builtin_assume(count > 0);  // ptxas otherwise serializes the wgmmas
  PipelineState<Traits> state(shared);
  typename Traits::Accumulator accum[Traits::m_tiles][Traits::accumulators];
  if constexpr (Traits::runtime_shape)
    accumulate_runtime_shape<Traits>(shared, state, count, 0, first_row, empty_mask, accum);
  else accumulate_tile<Traits, Traits::cols>(shared, state, count, first_row, empty_mask, accum);
  // Recomputed after the mainloop, as in consume().
  const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
  const InterBlockReduction<Traits> reduction(args, shared, tile, rank);
  reduction.store_partial(tile.split, accum);
  const TileCoord<Traits> origin(args, tile, block_coord);
  reduction.add_and_store(args, tile.split, origin.row, origin.col);
}

template <class Traits>
__device__ void consume(const typename Traits::Args& args, const TileShared<Traits>& shared, int consumer,
                        std::uint32_t rank) {
  if constexpr (can_overlap_epilogue<Traits>)
    if (args.overlaps_epilogue && EpilogueScale(args.epilogue).scale_is_normal) {
      if (args.k_tile_count < min_overlapped_k_tiles<1>)
        consume_overlapped<Traits, 2>(args, shared, consumer, rank);
      else consume_overlapped<Traits, 1>(args, shared, consumer, rank);
      return;
    }
  if constexpr (can_reduce_splits<Traits>)
    if (args.order.splits > 1) return consume_split<Traits>(args, shared, consumer, rank);
  const BlockCoordInCluster<Traits> block_coord = block_coord_in_cluster<Traits>(args, rank);
  // Bit r: block r of the cluster multicasts to this one, itself included.
  const std::uint32_t empty_mask = block_coord.multicast_mask_a() | block_coord.multicast_mask_b();
  const int first_row = consumer * Traits::m_tiles * 64;
  PipelineState<Traits> state(shared);
  OrderedSequenceBarrier<Traits>::begin(consumer);
  const int cluster_size = cluster_blocks<Traits>(args);
  for (std::int32_t unit = first_unit(cluster_size); unit < args.units;
       unit += work_unit_stride(cluster_size)) {
    const int count = k_tiles_of_unit<Traits>(args, split_of<Traits>(args.order.at(unit), rank));
    typename Traits::Accumulator accum[Traits::m_tiles][Traits::accumulators];
    if constexpr (IsEmulatedFp32<typename Traits::Kind>) {
      const TileOrder::Tile work_tile = args.order.at(unit);
      promote_components<Traits>(
          args, shared, state, first_k_tile(args, split_of<Traits>(work_tile, rank)), count, first_row,
          (work_tile.row * Traits::cluster_rows + static_cast<int>(block_coord.row)) * Traits::rows +
              first_row,
          consumer, empty_mask, accum);
    } else {
      if constexpr (Traits::misaligned_rows) {
        const WorkTile<Traits> work(args, unit, rank, block_coord);
        if (work.k_tile_begin == 0 && count > 0)
          zero_leading_elements<Traits>(args, shared, state, work.origin.row_class, first_row, consumer);
      }
      if constexpr (Traits::runtime_shape)
        accumulate_runtime_shape<Traits>(shared, state, count, args.k_tiles_per_split, first_row, empty_mask,
                                         accum);
      else accumulate_tile<Traits, Traits::cols>(shared, state, count, first_row, empty_mask, accum);
    }
    // Recomputed after the mainloop, so that these values are not kept live in registers across it.
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    const TileCoord<Traits> origin(args, tile, block_coord);
    const int row = origin.row + first_row * output_stride<Traits>(args).row, col = origin.col;
    if constexpr (Traits::cluster_split_k) {
      if (args.cluster_splits == 1)
        store_tile<Traits, Traits::accumulators>(args, shared, consumer, accum, row, col);
      else reduce_cluster_splits<Traits>(args, shared, rank, consumer, accum, origin.row, col);
      continue;
    }
    store_tile<Traits, Traits::accumulators>(args, shared, consumer, accum, row, col);
  }
  OrderedSequenceBarrier<Traits>::end(consumer);
  if (args.tma_store && threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

struct NoPrologue {};

// The arrivals that a stage's `full` barrier expects: one of the thread that loads A, one of B's.
inline constexpr int operands_per_stage = 2;

// Runs a warp-specialized kernel. Warpgroup 0 is the producer, of which one thread loads A and one loads B;
// the others are consumer warpgroups, which issue wgmma.
//   init()                       one thread, before the kernel may read what earlier kernels wrote
//   prologue(shared, rank)       one thread: loads that need no other block and no empty stage
//   producer.operator()<is_b>(shared, rank)  one thread each, for A and for B
//   consumer_main(shared, i, rank)  consumer warpgroup i, counted from 0
// `cluster_reduction`: the blocks of a cluster add their partial sums of one tile.
// `independent_of_previous`: the previous kernel wrote nothing that this one reads, so only this kernel's end
// waits for it.
template <class Traits, class Init, class Producer, class Consumer, class Prologue = NoPrologue>
__device__ __forceinline__ void warp_specialized_main(
    unsigned char* raw, const Init& init, const Producer& producer, const Consumer& consumer_main,
    bool cluster_reduction = false, bool independent_of_previous = false, const Prologue& prologue = {},
    const TileShape& shape = fixed_shape<Traits>(), int stages = Traits::stages) {
  const TileShared<Traits> shared(raw, shape.rows, shape.cols, stages);
  const int consumer_warpgroups =
      Traits::runtime_shape ? shape.rows / rows_granularity : Traits::consumer_warpgroups;
  const int warpgroup_idx = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  const std::uint32_t rank =
      Traits::cluster_size == 1 && !Traits::cluster_split_k ? 0 : ptx::block_rank_in_cluster();
  if (threadIdx.x == 0) {
    init();
    for (int stage = 0; stage < Traits::stages; ++stage) {
      ptx::mbarrier_init(shared.full(stage), operands_per_stage);
      ptx::mbarrier_init(
          shared.empty(stage),
          static_cast<std::uint32_t>(consumer_warpgroups * (shape.cluster_rows + shape.cluster_cols - 1)));
    }
    ptx::fence_mbarrier_init();
    if constexpr (can_run_without_multicast<Traits> && !std::is_same_v<Prologue, NoPrologue>) {
      if (has_no_multicast<Traits>(shape)) {
        // The prologue's TMA loads use the barriers before any block barrier: the initialisation must be
        // visible to the async proxy.
        ptx::fence_proxy_async();
        if (!independent_of_previous) ptx::griddepcontrol_wait();
        prologue(shared, rank);
      }
    }
  }
  if (has_no_multicast<Traits>(shape)) __syncthreads();
  else ptx::cluster_sync();
  // After this wait all threads may access global memory that earlier kernels wrote. Only the prologue's TMA
  // loads come before; thread 0 has then executed griddepcontrol.wait itself. Barrier initialisation and
  // tensor map prefetches overlap the previous kernel.
  if (!independent_of_previous) ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();
  if (warpgroup_idx == 0) {
    ptx::warpgroup_reg_dealloc<Traits::consumer_warpgroups == 1   ? 56
                               : Traits::consumer_warpgroups == 2 ? 40
                                                                  : 32>();
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
    if (warp == 0 && ptx::elect_one()) producer.template operator()<false>(shared, rank);
    if (warp == 1 && ptx::elect_one()) producer.template operator()<true>(shared, rank);
    __syncwarp();
    if (Traits::cluster_split_k && cluster_reduction)
      ptx::cluster_sync();  // all threads must execute it: matches the one in reduce_cluster_splits()
  } else {
    ptx::warpgroup_reg_alloc<Traits::consumer_warpgroups == 1   ? 248
                             : Traits::consumer_warpgroups == 2 ? 232
                                                                : 160>();
    consumer_main(shared, warpgroup_idx - 1, rank);
  }
  // A block must not exit while others of its cluster may still access its shared memory.
  if (Traits::cluster_size > 1 || (Traits::cluster_split_k && cluster_reduction)) ptx::cluster_sync();
  // A kernel that waits for this one has to wait for the previous one, too.
  if (independent_of_previous) ptx::griddepcontrol_wait();
}

template <class Traits>
__global__ void __launch_bounds__(Traits::threads, 1)
    multiply_tiles(const __grid_constant__ typename Traits::Args args) {
  extern __shared__ unsigned char raw[];
  const auto prologue = [&](const TileShared<Traits>& shared, std::uint32_t rank) {
    if constexpr (can_run_without_multicast<Traits>) load_prologue<Traits>(args, shared, rank);
  };
  warp_specialized_main<Traits>(
      raw,
      [&] {
        if (args.k_tile_count <= 0) return;
        if constexpr (!Traits::misaligned_rows) {
          ptx::prefetch_tensormap(args.a);
          ptx::prefetch_tensormap(args.b);
        }
        if (args.tma_store) ptx::prefetch_tensormap(args.c);
      },
      [&]<bool is_b>(const TileShared<Traits>& shared, std::uint32_t rank) {
        produce<Traits, is_b>(args, shared, rank);
      },
      [&](const TileShared<Traits>& shared, int consumer, std::uint32_t rank) {
        consume<Traits>(args, shared, consumer, rank);
      },
      args.cluster_splits > 1, args.independent_of_previous, prologue, shape_of_tile<Traits>(args),
      args.stages);
}

// Calls fn(traits, args) for the components that the device chose. Returns false for strict f32, which
// another kernel has computed.
template <class Requested, class Bf16, class Function>
__device__ __forceinline__ bool with_used_components(const EmulatedLaunchArgs& args, const Function& fn) {
  constexpr Compute requested = Requested::Kind::compute;
  const Compute used = args.used == nullptr
                           ? requested
                           : static_cast<Compute>(__ldcg(reinterpret_cast<const unsigned char*>(args.used)));
  if (used == requested) return fn(Requested{}, args.requested), true;
  if constexpr (!std::is_same_v<Requested, Bf16>)
    if (used == Compute::bf16x6) return fn(Bf16{}, args.bf16), true;
  return false;
}

// multiply_tiles() for emulated FP32. Both kinds of components have pipelines of the same size.
template <class Requested, class Bf16>
__global__ void __launch_bounds__(Requested::threads, 1)
    multiply_used_components(const __grid_constant__ EmulatedLaunchArgs args) {
  static_assert(Requested::pipeline_bytes == Bf16::pipeline_bytes &&
                Requested::shared_bytes >= Bf16::shared_bytes);
  extern __shared__ unsigned char raw[];
  const WgmmaArgs& requested = args.requested;
  const auto prologue = [&](const TileShared<Requested>& shared, std::uint32_t rank) {
    if constexpr (can_run_without_multicast<Requested>)
      with_used_components<Requested, Bf16>(args, [&]<class Traits>(Traits, const WgmmaArgs& used) {
        load_prologue<Traits>(used, TileShared<Traits>(shared.base), rank);
      });
  };
  warp_specialized_main<Requested>(
      raw,
      [&] {
        if (requested.k_tile_count <= 0) return;
        ptx::prefetch_tensormap(requested.a);
        ptx::prefetch_tensormap(requested.b);
        if (requested.tma_store) ptx::prefetch_tensormap(requested.c);
      },
      [&]<bool is_b>(const TileShared<Requested>& shared, std::uint32_t rank) {
        with_used_components<Requested, Bf16>(args, [&]<class Traits>(Traits, const WgmmaArgs& used) {
          produce<Traits, is_b>(used, TileShared<Traits>(shared.base), rank);
        });
      },
      [&](const TileShared<Requested>& shared, int consumer, std::uint32_t rank) {
        const bool multiplied =
            with_used_components<Requested, Bf16>(args, [&]<class Traits>(Traits, const WgmmaArgs& used) {
              consume<Traits>(used, TileShared<Traits>(shared.base), consumer, rank);
            });
        if (!multiplied && Requested::cluster_split_k && requested.cluster_splits > 1)
          ptx::cluster_sync();  // matches the one in reduce_cluster_splits()
      },
      requested.cluster_splits > 1, requested.independent_of_previous, prologue);
}

// One warpgroup is producer and consumer.
inline constexpr int one_warpgroup_threads = 128;

template <class Traits>
__global__ void __launch_bounds__(one_warpgroup_threads, 1)
    multiply_one_warpgroup(const __grid_constant__ WgmmaArgs args) {
  static_assert(Traits::cluster_size == 1 && Traits::consumer_warpgroups == 1);
  extern __shared__ unsigned char raw[];
  const TileShared<Traits> shared(raw);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Traits::stages; ++stage)
      ptx::mbarrier_init(shared.full(stage), operands_per_stage);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // with the fence orders mbarrier.init before the first TMA load
  ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();
  const TileOrder::Tile tile = args.order.at(static_cast<std::int32_t>(blockIdx.x));
  const int row = tile.row * Traits::rows, col = tile.col * Traits::cols, count = args.k_tile_count;
  const BlockCoordInCluster<Traits> block_coord(0);
  const OperandLoader<Traits, false> loader_a(shared, row, args.a_tx_bytes, block_coord);
  const OperandLoader<Traits, true> loader_b(shared, col, args.b_tx_bytes, block_coord);
  const auto issue_load = [&](int i) {
    if (threadIdx.x != 0 || i >= count) return;
    loader_a.load(args.a, i % Traits::stages, i * (128 / Traits::element_bytes));
    loader_b.load(args.b, i % Traits::stages, i * (128 / Traits::element_bytes));
  };
  for (int i = 0; i + 1 < Traits::stages; ++i) issue_load(i);
  typename Traits::Accumulator accum[Traits::m_tiles][Traits::accumulators];
#pragma unroll
  for (int i = 0; i < Traits::m_tiles * Traits::accumulators; ++i)
    accum[i / Traits::accumulators][i % Traits::accumulators] = 0;
  PipelineState<Traits> state(shared);
  for (int i = 0; i < count; ++i) {
    issue_load(i + Traits::stages - 1);  // to the stage that the last iteration read
    ptx::mbarrier_wait(shared.full(state.index), state.phase);
    multiply_stage<Traits>(shared, state.index, 0, accum, true);
    ptx::wgmma_wait_group<0>();
    __syncthreads();
    state.advance();
  }
#pragma unroll
  for (int m = 0; m < Traits::m_tiles; ++m) ptx::fence_accumulators(accum[m]);
  store_tile<Traits, Traits::accumulators>(args, shared, 0, accum, row, col);
  if (args.tma_store && threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

}  // namespace tessera::matmul
