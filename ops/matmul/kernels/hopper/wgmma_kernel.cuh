// SPDX-License-Identifier: Apache-2.0
// The wgmma kernels: multiply_tiles, persistent and warp-specialized (rungs 14 to 16), and
// multiply_one_warpgroup, in which one warpgroup loads and multiplies (rung 13).
//
// In multiply_tiles one producer warpgroup loads (produce) and the consumer warpgroups multiply (consume),
// with a ring of stages in shared memory between them. Blocks are persistent: the next tile's stages arrive
// during the epilogue of the last one. The blocks of a cluster multicast the slices of A and B that several
// of them need.
//
// First the mainloop; then the overlapped epilogue: a tile's sums, rounded to 16 bits, take half of their
// registers, so the next tile's mainloop starts before they are stored.
#pragma once
#include "ops/matmul/kernels/hopper/wgmma_args.cuh"
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"
#include "ops/matmul/kernels/hopper/wgmma_epilogue.cuh"

namespace tessera::matmul {

// A block's coordinate in its cluster, and the multicast masks of the blocks that need the same rows of A, or
// the same columns of B.
template <class C>
struct ClusterCoord {
  int cluster_rows, cluster_cols;
  std::uint32_t row, col;  // of the block in its cluster

  __device__ explicit ClusterCoord(std::uint32_t rank, int rows = C::cluster_rows, int cols = C::cluster_cols)
      : cluster_rows(rows),
        cluster_cols(cols),
        row(rank % static_cast<std::uint32_t>(rows)),
        col(rank / static_cast<std::uint32_t>(rows)) {}
  __device__ std::uint16_t multicast_a() const {
    std::uint32_t out = 0;
#pragma unroll
    for (int i = 0; i < cluster_cols; ++i) out |= 1u << (row + static_cast<std::uint32_t>(i * cluster_rows));
    return static_cast<std::uint16_t>(out);
  }
  __device__ std::uint16_t multicast_b() const {
    return static_cast<std::uint16_t>(((1u << cluster_rows) - 1)
                                      << (col * static_cast<std::uint32_t>(cluster_rows)));
  }
};

template <class C>
__device__ __forceinline__ ClusterCoord<C> cluster_coord(const WgmmaArgs& args, std::uint32_t rank) {
  const TileSize size = size_of_tile<C>(args);
  return ClusterCoord<C>(C::cluster_split_k ? 0 : rank, size.cluster_rows, size.cluster_cols);
}

// Loads this block's slice of one operand's stage and multicasts it to all blocks that need it. The stage has
// `lines` rows of A, or columns of B, from `first` on. `layer`: the z coordinate of a three-dimensional
// tensor map.
template <class C, bool mn_major, int lines, int multicast_blocks, class... Layer>
__device__ __forceinline__ void load_operand(unsigned char* to, const CUtensorMap& map, int first, int k,
                                             int slice, std::uint16_t blocks, ptx::Mbarrier& full,
                                             Layer... layer) {
  constexpr int per_128 = 128 / C::element_bytes, mine = lines / multicast_blocks,
                boxes = mn_major ? mine / per_128 : 1;
  to += slice * mine * 128;
  first += slice * mine;
#pragma unroll
  for (int i = 0; i < boxes; ++i) {
    const int x = mn_major ? first + i * per_128 : k, y = mn_major ? k : first;
    unsigned char* const box = to + i * per_128 * 128;
    if constexpr (multicast_blocks == 1) ptx::tma_load(box, map, x, y, layer..., full);
    else ptx::tma_load_multicast(blocks, box, map, x, y, layer..., full);
  }
}

// The same for a tile whose size is a launch parameter. `lines`: of the slice.
__device__ __forceinline__ void load_operand_slice(unsigned char* to, const CUtensorMap& map, int lines,
                                                   std::uint32_t slice, int first, int k,
                                                   int multicast_blocks, std::uint16_t blocks,
                                                   ptx::Mbarrier& full) {
  const int at = static_cast<int>(slice) * lines;
  if (multicast_blocks == 1) ptx::tma_load(to, map, k, first, full);
  else ptx::tma_load_multicast(blocks, to + at * 128, map, k, first + at, full);
}

// Loads the scales of `cols` columns of B from `col` on. Two stages share them; they come with the first.
template <class C, int cols>
__device__ __forceinline__ void load_scales(const WgmmaArgs& args, const TileShared<C>& shared, int stage,
                                            int col, int k) {
  if constexpr (has_scales<typename C::Kind>) {
    const int line = k / (128 / C::element_bytes);
    if (line % stages_of_sum != 0) return;
    ptx::cp_async_bulk(shared.scales(stage),
                       args.emulation.scales_b + line / stages_of_sum * args.emulation.step_b + col, cols * 4,
                       shared.full(stage));
  }
}

// The tensor map of A and of B. With misaligned rows there is one for each remainder.
template <class C>
__device__ __forceinline__ const CUtensorMap& tensor_map_a(const typename C::Args& args, int remainder) {
  if constexpr (C::misaligned_rows)
    if (!args.of_b) return args.lines[remainder];
  return args.a;
}
template <class C>
__device__ __forceinline__ const CUtensorMap& tensor_map_b(const typename C::Args& args, int remainder) {
  if constexpr (C::misaligned_rows)
    if (args.of_b) return args.lines[remainder];
  return args.b;
}

// Loads this block's slices of A and B of one stage. `row`, `col`, `k`: coordinates in the tensor maps.
// `remainder`: of the lines of the operand with misaligned rows.
template <class C>
__device__ __forceinline__ void load_stage(const typename C::Args& args, const TileShared<C>& shared,
                                           int stage, int row, int col, int k,
                                           const ClusterCoord<C>& block_coord, int remainder = 0) {
  ptx::Mbarrier& full = shared.full(stage);
  load_scales<C, C::cols>(args, shared, stage, col, k);
  ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(args.a_bytes + args.b_bytes));
  if constexpr (C::any_size) {
    load_operand_slice(shared.a(stage), args.a, args.a_lines, block_coord.col, row, k,
                       block_coord.cluster_cols, block_coord.multicast_a(), full);
    load_operand_slice(shared.b(stage), args.b, args.b_lines, block_coord.row, col, k,
                       block_coord.cluster_rows, block_coord.multicast_b(), full);
  } else {
    load_operand<C, C::mn_major_a, C::rows, C::cluster_cols>(
        shared.a(stage), tensor_map_a<C>(args, remainder), row, k, static_cast<int>(block_coord.col),
        block_coord.multicast_a(), full);
    load_operand<C, C::mn_major_b, C::cols, C::cluster_rows>(
        shared.b(stage), tensor_map_b<C>(args, remainder), col, k, static_cast<int>(block_coord.row),
        block_coord.multicast_b(), full);
  }
}

// The same for a tail tile, without multicast. A box of B may hold more columns than the tile.
template <class C>
__device__ __forceinline__ void load_tail_stage(const WgmmaArgs& args, const TileShared<C>& shared, int stage,
                                                int row, int col, int k) {
  constexpr int a_lines = C::rows / C::cluster_cols,
                b_lines = C::mn_major_b ? TailOrder::width : C::cols / C::cluster_rows;
  static_assert(b_lines >= TailOrder::width);
  ptx::Mbarrier& full = shared.full(stage);
  load_scales<C, TailOrder::width>(args, shared, stage, col, k);
  ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(args.a_bytes + b_lines * 128));
#pragma unroll
  for (int i = 0; i < C::cluster_cols; ++i)
    load_operand<C, C::mn_major_a, a_lines, 1>(shared.a(stage) + i * a_lines * 128, args.a, row + i * a_lines,
                                               k, 0, 0, full);
  load_operand<C, C::mn_major_b, b_lines, 1>(shared.b(stage), args.b, col, k, 0, 0, full);
}

// The k tile range of a split: the first, and their number.
__device__ __forceinline__ int first_stage(const WgmmaArgs& args, int split) {
  return split * args.split_depth;
}
__device__ __forceinline__ int stages_of(const WgmmaArgs& args, int split) {
  const int left = args.depth - first_stage(args, split);
  return left < args.split_depth ? left : args.split_depth;
}

// Calls act(row, col) for this block's tail tiles in a unit of work.
template <class C, class Do>
__device__ __forceinline__ void each_tail_tile(const WgmmaArgs& args, std::int32_t unit, std::uint32_t rank,
                                               const Do& act) {
  const int first_col = args.order.cols * C::cluster_cols * C::cols;
#pragma unroll 1
  for (std::int32_t i = 0; i < args.tail.tall; ++i) {
    const TailOrder::Tile tile =
        args.tail.at(unit - args.main_units, i, C::cluster, static_cast<std::int32_t>(rank));
    if (!tile.exists) return;
    act(tile.row * C::rows, first_col + tile.col * TailOrder::width);
  }
}

// This cluster's units of work, `blocks` blocks a cluster: the first, and the step to the next.
__device__ __forceinline__ std::int32_t first_unit(int blocks) {
  return static_cast<std::int32_t>(blockIdx.x) / blocks;
}
__device__ __forceinline__ std::int32_t unit_step(int blocks) {
  return static_cast<std::int32_t>(gridDim.x) / blocks;
}
template <class C>
__device__ __forceinline__ int cluster_blocks(const WgmmaArgs& args) {
  return C::cluster_split_k ? args.cluster_splits : size_of_tile<C>(args).cluster();
}
// The split of the tile's sum that this block computes.
template <class C>
__device__ __forceinline__ int split_of(TileOrder::Tile tile, std::uint32_t rank) {
  return C::cluster_split_k ? static_cast<int>(rank) : tile.split;
}

inline constexpr int wgmma_k_steps = 4;  // of 32 bytes of k

// Arrives at the `empty` barriers of `stage` in all blocks that load to this one. no_multicast: this block
// loads alone, and arrives as many times on its own barrier as the peers would.
template <class C, bool no_multicast>
__device__ __forceinline__ void release(const TileShared<C>& shared, int stage, std::uint32_t peers) {
  const int me = static_cast<int>(threadIdx.x) % 128;
  if constexpr (C::cluster == 1 || no_multicast) {
    if (me < C::cluster_rows + C::cluster_cols - 1) ptx::mbarrier_arrive(shared.empty(stage));
  } else {
    if (me < C::cluster && (peers >> me & 1) != 0)
      ptx::mbarrier_arrive_cluster(shared.empty(stage), static_cast<std::uint32_t>(me));
  }
}

// True for the number of columns of a tail tile, which is loaded without multicast.
template <class C, int cols>
inline constexpr bool is_tail = cols != C::cols&& C::has_tail;

// Issues one wgmma: step `step` of a stage, 64 rows of the tile from row `row` on.
template <class C, int cols>
__device__ __forceinline__ void issue_wgmma_rows(const TileShared<C>& shared, int stage, int row,
                                                 typename C::Sum (&sum)[cols / 2], int step,
                                                 bool accumulate) {
  using Wgmma = ptx::Wgmma<typename C::Kind, cols, C::mn_major_a, C::mn_major_b>;
  constexpr int per_128 = 128 / C::element_bytes, k_of_step = per_128 / wgmma_k_steps;
  const unsigned char *const a = shared.a(stage), *const b = shared.b(stage);
  const std::uint64_t desc_b = C::mn_major_b
                                   ? ptx::matrix_descriptor(b + step * k_of_step * 128, 1024, per_128 * 128)
                                   : ptx::matrix_descriptor(b + step * 32, 1024, 0);
  const std::uint64_t desc_a =
      C::mn_major_a ? ptx::matrix_descriptor(a + row * 128 + step * k_of_step * 128, 1024, per_128 * 128)
                    : ptx::matrix_descriptor(a + row * 128 + step * 32, 1024, 0);
  Wgmma::mma_async(sum, desc_a, desc_b, accumulate ? 1 : 0);
}

// Issues a stage's wgmma, from row `row` on, and commits them as one group.
template <class C, int cols = C::cols>
__device__ __forceinline__ void multiply_stage(const TileShared<C>& shared, int stage, int row,
                                               typename C::Sum (&sum)[C::row_blocks][cols / 2],
                                               bool accumulate) {
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < wgmma_k_steps; ++step)
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block)
      issue_wgmma_rows<C, cols>(shared, stage, row + block * 64, sum[block], step, accumulate || step > 0);
  ptx::wgmma_commit_group();
}

// Accumulates stages `from` to `count` in the accumulators. `pending_stage`: the stage whose wgmma group may
// be pending, or -1.
template <class C, int cols>
__device__ __forceinline__ void add_stages(const TileShared<C>& shared, Ring<C>& ring, int from, int count,
                                           int row, std::uint32_t peers, int& pending_stage,
                                           typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  for (int i = from; i < count; ++i) {
    ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C, cols>(shared, ring.stage, row, sum, i > 0);
    ptx::wgmma_wait_group<1>();
    if (pending_stage >= 0) release<C, is_tail<C, cols>>(shared, pending_stage, peers);
    pending_stage = ring.stage;
    ring.advance();
  }
}

template <class C, int cols>
__device__ __forceinline__ void finish_accumulators(const TileShared<C>& shared, int pending_stage,
                                                    std::uint32_t peers,
                                                    typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  ptx::wgmma_wait_group<0>();
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) ptx::fence_accumulators(sum[block]);
  if (pending_stage >= 0) release<C, is_tail<C, cols>>(shared, pending_stage, peers);
}

// Accumulates all stages of a tile.
template <class C, int cols>
__device__ __forceinline__ void sum_stages(const TileShared<C>& shared, Ring<C>& ring, int count, int row,
                                           std::uint32_t peers,
                                           typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  int pending_stage = -1;
  add_stages<C, cols>(shared, ring, 0, count, row, peers, pending_stage, sum);
  finish_accumulators<C, cols>(shared, pending_stage, peers, sum);
}

// Accumulates each stage in accumulators of its own and adds those in f32 (promotion). While one consumer
// adds, the others multiply.
template <class C, int cols>
__device__ __forceinline__ void promote_stages(const TileShared<C>& shared, Ring<C>& ring, int count, int row,
                                               std::uint32_t peers,
                                               typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  typename C::Sum part[cols / 2] = {};  // else the compiler would keep its registers live before
  for (int i = 0; i < count; ++i) {
    ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block) {
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < wgmma_k_steps; ++step)
        issue_wgmma_rows<C, cols>(shared, ring.stage, row + block * 64, part, step, step > 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      ptx::fence_accumulators(part);
      if (block + 1 == C::row_blocks) release<C, is_tail<C, cols>>(shared, ring.stage, peers);
#pragma unroll
      for (int j = 0; j < cols / 2; ++j) sum[block][j] += part[j];
    }
    ring.advance();
  }
}

// Emulated FP32: issues products `from` to `to` of the list of pairs of parts, for 64 rows of a stage from
// row `row` on.
template <class C, int cols, int from, int to>
__device__ __forceinline__ void multiply_parts(const TileShared<C>& shared, int stage, int row,
                                               float (&sum)[cols / 2], bool accumulate) {
  using Kind = typename C::Kind;
  using Wgmma = ptx::Wgmma<typename Kind::Part, cols, 0, 0>;
  const unsigned char *const a = shared.a(stage) + row * 128, *const b = shared.b(stage);
#pragma unroll
  for (int i = from; i < to; ++i)
    Wgmma::mma_async(sum, ptx::matrix_descriptor(a + Kind::product(i).a * 32, 1024, 0),
                     ptx::matrix_descriptor(b + Kind::product(i).b * 32, 1024, 0),
                     accumulate || i > from ? 1 : 0);
}

// Named barrier of one consumer warpgroup. OrderedSequenceBarrier has the two before.
__device__ __forceinline__ void sync_consumer_warpgroup(int consumer) {
  constexpr int first_barrier = 10;
  ptx::named_barrier_sync(first_barrier + consumer, 128);
}

// The two consumers issue their wgmma one after the other, so that one multiplies while the other adds in f32
// (as FlashAttention-3's warpgroups; both work on one tile, other than in CUTLASS's KernelPingpong). Without
// the order both would issue, and then add, at the same time, while the tensor cores idle.
template <class C>
struct OrderedSequenceBarrier {
  static constexpr bool enabled = IsEmulatedFp32<typename C::Kind> && C::consumers == 2 && C::ping_pong;
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

// promote_stages() for emulated FP32: each two stages have accumulators of their own, which are added with
// the product of their scales. The small products of both stages come first. `from`: the first stage's number
// along k; `tile_row`: this consumer's first row in C.
template <class C, int cols>
__device__ __forceinline__ void promote_parts(const WgmmaArgs& args, const TileShared<C>& shared,
                                              Ring<C>& ring, int from, int count, int row, int tile_row,
                                              int consumer, std::uint32_t peers,
                                              float (&sum)[C::row_blocks][cols / 2]) {
  constexpr bool scaled = has_scales<typename C::Kind>, no_multicast = cols != C::cols;
  constexpr int small = C::Kind::small_products;
#pragma unroll
  for (int i = 0; i < C::row_blocks * (cols / 2); ++i) sum[i / (cols / 2)][i % (cols / 2)] = 0;
  float part[cols / 2] = {};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* scales_a = nullptr;
  if constexpr (scaled)
    scales_a = args.emulation.scales_a + from / stages_of_sum * args.emulation.step_a + tile_row +
               static_cast<int>(threadIdx.x) % 128 / 32 * 16 + lane / 4;
  for (int i = 0; i < count; i += stages_of_sum) {
    float left[C::row_blocks][2];
    if constexpr (scaled) {
#pragma unroll
      for (int block = 0; block < C::row_blocks; ++block)
#pragma unroll
        for (int half = 0; half < 2; ++half) left[block][half] = __ldg(scales_a + block * 64 + half * 8);
      scales_a += args.emulation.step_a;
    }
    const int stage = ring.stage;
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block) {
      if (block == 0) {
        ptx::mbarrier_wait(shared.full(stage), ring.parity);
        ptx::mbarrier_wait(shared.full(stage + 1), ring.parity);
      }
      OrderedSequenceBarrier<C>::wait(consumer);
      ptx::wgmma_fence();
      const int first_row = row + block * 64;
      multiply_parts<C, cols, 0, small>(shared, stage, first_row, part, false);
      multiply_parts<C, cols, 0, small>(shared, stage + 1, first_row, part, true);
      multiply_parts<C, cols, small, products_of_stage>(shared, stage, first_row, part, true);
      multiply_parts<C, cols, small, products_of_stage>(shared, stage + 1, first_row, part, true);
      ptx::wgmma_commit_group();
      OrderedSequenceBarrier<C>::arrive_next(consumer);
      ptx::wgmma_wait_group<0>();
      ptx::fence_accumulators(part);
      if (block + 1 == C::row_blocks) {
        release<C, no_multicast>(shared, stage + 1, peers);
        if (!scaled) release<C, no_multicast>(shared, stage, peers);
      }
      if constexpr (scaled) {
        const float* const scales_b = shared.scales(stage) + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < cols / 2; j += 4) {
          const float2 right = *reinterpret_cast<const float2*>(scales_b + 2 * j);
          sum[block][j] = __fmaf_rn(part[j], left[block][0] * right.x, sum[block][j]);
          sum[block][j + 1] = __fmaf_rn(part[j + 1], left[block][0] * right.y, sum[block][j + 1]);
          sum[block][j + 2] = __fmaf_rn(part[j + 2], left[block][1] * right.x, sum[block][j + 2]);
          sum[block][j + 3] = __fmaf_rn(part[j + 3], left[block][1] * right.y, sum[block][j + 3]);
        }
        if (block + 1 == C::row_blocks) {
          sync_consumer_warpgroup(consumer);
          release<C, no_multicast>(shared, stage, peers);
        }
      } else {
#pragma unroll
        for (int j = 0; j < cols / 2; ++j) sum[block][j] += part[j];
      }
    }
    ring.advance();
    ring.advance();
  }
}

// Accumulates `count` k tiles. The accumulators are zeroed if promoted (they are added to), if there is no
// k tile, and, with more than one M tile, to end the compiler's live range.
template <class C, int cols>
__device__ __forceinline__ void accumulate_tile(const TileShared<C>& shared, Ring<C>& ring, int count,
                                                int row, std::uint32_t peers,
                                                typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  constexpr int sums = cols / 2;
  if (count <= 0 || C::promoted || C::row_blocks > 1)
#pragma unroll
    for (int i = 0; i < C::row_blocks * sums; ++i) sum[i / sums][i % sums] = 0;
  if constexpr (C::promoted) promote_stages<C, cols>(shared, ring, count, row, peers, sum);
  else sum_stages<C, cols>(shared, ring, count, row, peers, sum);
}

// The same for a number of columns that is a launch parameter, `cols` or more.
template <class C, int cols = any_cols>
__device__ __forceinline__ void accumulate_tile_any_size(const TileShared<C>& shared, Ring<C>& ring,
                                                         int count, int row, std::uint32_t peers,
                                                         typename C::Sum (&sum)[C::row_blocks][C::sums]) {
  using First = typename C::Sum[C::row_blocks][cols / 2];
  static_assert(C::row_blocks == 1);
  if (shared.cols == cols || cols == C::cols)
    accumulate_tile<C, cols>(shared, ring, count, row, peers, reinterpret_cast<First&>(sum));
  else if constexpr (cols < C::cols)
    accumulate_tile_any_size<C, cols + any_cols>(shared, ring, count, row, peers, sum);
}

// True if the tile leaves registers for the previous tile's results.
template <class C>
inline constexpr bool can_overlap_epilogue =
    !C::promoted && !C::cluster_split_k && C::row_blocks == 1 && C::cols == 256 && C::Kind::bytes <= 2 &&
    std::is_same_v<typename C::Sum, float>;

// One consumer's 64 rows of a tile, as pairs of 16-bit results.
template <class C>
struct OverlappedEpilogue {
  static constexpr int parts = C::sums / 32;  // boxes of 64 columns
  static_assert(parts == 4);                  // as least_overlapped_depth has it
  std::uint32_t pairs[C::sums / 2];
  int row = 0, col = 0;

  template <class Out>
  __device__ __forceinline__ void round_as(float scale, const float (&sum)[C::sums]) {
    if (scale == 1) {
#pragma unroll
      for (int i = 0; i < C::sums / 2; ++i) pairs[i] = pair_of(Out{}, sum[2 * i], sum[2 * i + 1]);
    } else {
#pragma unroll
      for (int i = 0; i < C::sums / 2; ++i)
        pairs[i] = pair_of(Out{}, scale * sum[2 * i], scale * sum[2 * i + 1]);
    }
  }
  __device__ __forceinline__ void round(const WgmmaArgs& args, float scale, const float (&sum)[C::sums]) {
    if (args.out_element == Element::f16) round_as<__half>(scale, sum);
    else round_as<__nv_bfloat16>(scale, sum);
  }

  // Writes 64 columns to a box.
  __device__ __forceinline__ void fill(unsigned char* box, int part) const {
    const int me = opaque_thread_index() % 128, lane = me % 32, r = me / 32 * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const std::uint32_t* const at = pairs + 2 * (part * 8 + j);
      ptx::stmatrix_x4(box + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, at[0], at[1], at[2], at[3]);
    }
  }
  __device__ __forceinline__ void send(const WgmmaArgs& args, const unsigned char* box, int part) const {
    const int warp = opaque_thread_index() % 128 / 32;
    ptx::tma_store(args.c, box + warp * 16 * 128, col + part * 64, row + warp * 16);
    ptx::tma_store_commit_group();
  }

  // Stores through two boxes in turn: one is filled while the TMA may still read the other.
  __device__ __forceinline__ void store(const WgmmaArgs& args, const TileShared<C>& shared, int consumer,
                                        int part) const {
    unsigned char* const box = shared.out(consumer) + part % 2 * C::box_bytes;
    const bool first = opaque_thread_index() % 32 == 0;
    if (first) ptx::tma_store_wait_group_read<1>();
    __syncwarp();
    fill(box, part);
    ptx::fence_proxy_async();
    __syncwarp();
    if (first) send(args, box, part);
  }

  // Stores a block's last tile through boxes in A's stages, which no load overwrites any more.
  __device__ __forceinline__ void store_last(const WgmmaArgs& args, const TileShared<C>& shared,
                                             int consumer) const {
    static_assert(parts <= C::stages && C::cluster_cols == 1 && C::a_bytes == C::consumers * C::box_bytes);
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      unsigned char* const box = shared.a(part) + consumer * C::box_bytes;
      fill(box, part);
      ptx::fence_proxy_async();
      __syncwarp();
      if (opaque_thread_index() % 32 == 0) send(args, box, part);
    }
  }
};

// consume() with the overlapped epilogue: for whole tiles with a plain epilogue. `boxes` are stored during
// each stage.
template <class C, int boxes>
__device__ void consume_overlapped(const WgmmaArgs& args, const TileShared<C>& shared, int consumer,
                                   std::uint32_t rank) {
  const ClusterCoord<C> block_coord(rank);
  const std::uint32_t peers = block_coord.multicast_a() | block_coord.multicast_b();
  const int first_row = consumer * 64;
  const float scale = EpilogueScale(args.epilogue).real;
  std::int32_t unit = first_unit(C::cluster);
  if (unit >= args.units) return;

  Ring<C> ring(shared);
  OverlappedEpilogue<C> waiting;
  typename C::Sum sum[1][C::sums];
  ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
  multiply_stage<C>(shared, ring.stage, first_row, sum, false);
  bool any = false;
  while (true) {
    // The wgmma group of the tile's first stage is pending.
    int pending_stage = ring.stage;
    ring.advance();
#pragma unroll
    for (int part = 0; part < OverlappedEpilogue<C>::parts; part += boxes) {
      ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
      multiply_stage<C>(shared, ring.stage, first_row, sum, true);
      if (any) {
#pragma unroll
        for (int box = 0; box < boxes; ++box) waiting.store(args, shared, consumer, part + box);
      }
      ptx::wgmma_wait_group<1>();
      release<C, false>(shared, pending_stage, peers);
      pending_stage = ring.stage;
      ring.advance();
    }
    add_stages<C, C::cols>(shared, ring, 1 + OverlappedEpilogue<C>::parts / boxes, args.depth - 1, first_row,
                           peers, pending_stage, sum);

    ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, first_row, sum, true);
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    waiting.row = (tile.row * C::cluster_rows + static_cast<int>(block_coord.row)) * C::rows + first_row;
    waiting.col = (tile.col * C::cluster_cols + static_cast<int>(block_coord.col)) * C::cols;
    any = true;
    ptx::wgmma_wait_group<1>();
    release<C, false>(shared, pending_stage, peers);
    pending_stage = ring.stage;
    ring.advance();
    ptx::wgmma_wait_group<0>();
    ptx::fence_accumulators(sum[0]);
    release<C, false>(shared, pending_stage, peers);
    waiting.round(args, scale, sum[0]);

    unit += unit_step(C::cluster);
    if (unit >= args.units) break;
    ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, first_row, sum, false);
  }
  waiting.store_last(args, shared, consumer);
  if (threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

// The origin of a block's tile: a and b in the tensor maps of A and B, row and col in C.
template <class C>
struct TileCoord {
  int a, b, row, col, remainder = 0;

  __device__ __forceinline__ TileCoord(const typename C::Args& args, const TileOrder::Tile& tile,
                                       const ClusterCoord<C>& block_coord) {
    const TileSize size = size_of_tile<C>(args);
    row = a = (tile.row * size.cluster_rows + static_cast<int>(block_coord.row)) * size.rows;
    col = b = (tile.col * size.cluster_cols + static_cast<int>(block_coord.col)) * size.cols;
    if constexpr (C::misaligned_rows) {
      // Neighbouring tiles take the remainders in turn.
      const int at = args.of_b ? tile.col : tile.row, bits = args.zeros.bits;
      remainder = at & ((1 << bits) - 1);
      const int first = (at >> bits) * (args.of_b ? C::cols : C::rows), in_c = (first << bits) + remainder,
                copy = remainder * args.copied_lines;
      if (args.of_b) b = first, col = in_c, a += copy;
      else a = first, row = in_c, b += copy;
    }
  }
};

// A tile as a unit of work: its origin, its first stage and its number of stages.
template <class C>
struct WorkTile {
  TileCoord<C> origin;
  int first, count;

  __device__ __forceinline__ WorkTile(const typename C::Args& args, const TileOrder::Tile& tile,
                                      std::uint32_t rank, const ClusterCoord<C>& block_coord)
      : origin(args, tile, block_coord),
        first(first_stage(args, split_of<C>(tile, rank))),
        count(stages_of(args, split_of<C>(tile, rank))) {}
  __device__ __forceinline__ WorkTile(const typename C::Args& args, std::int32_t unit, std::uint32_t rank,
                                      const ClusterCoord<C>& block_coord)
      : WorkTile(args, args.order.at(unit), rank, block_coord) {}
  __device__ __forceinline__ void load(const typename C::Args& args, const TileShared<C>& shared,
                                       const ClusterCoord<C>& block_coord, int i, int stage) const {
    load_stage<C>(args, shared, stage, origin.a, origin.b, (first + i) * (128 / C::element_bytes),
                  block_coord, origin.remainder);
  }
  // The stages that load_prologue() requests before the block's first barrier. More of them delay the
  // consumers.
  __device__ __forceinline__ int prologue_stages(int stages) const {
    return min(count, min(stages, max_prologue_stages));
  }
  static constexpr int max_prologue_stages = 4;
};

// Loads the first stages of the first tile, by the thread that initialised the barriers. Only for a cluster
// of one block: no other block multicasts to this one's shared memory, and the consumers pass a block barrier
// first.
template <class C>
__device__ __forceinline__ void load_prologue(const typename C::Args& args, const TileShared<C>& shared,
                                              std::uint32_t rank) {
  const ClusterCoord<C> block_coord = cluster_coord<C>(args, rank);
  const std::int32_t unit = first_unit(cluster_blocks<C>(args));
  if (unit >= args.units || unit >= args.main_units) return;
  const WorkTile<C> work(args, unit, rank, block_coord);
  for (int i = 0; i < work.prologue_stages(shared.stages); ++i) work.load(args, shared, block_coord, i, i);
}

template <class C>
__device__ void produce(const typename C::Args& args, const TileShared<C>& shared, std::uint32_t rank) {
  const ClusterCoord<C> block_coord = cluster_coord<C>(args, rank);
  Ring<C> ring(shared);
  const int blocks = cluster_blocks<C>(args);
  for (std::int32_t unit = first_unit(blocks); unit < args.units; unit += unit_step(blocks)) {
    if constexpr (C::has_tail) {
      if (unit >= args.main_units) {
        each_tail_tile<C>(args, unit, rank, [&](int row, int col) {
          for (int i = 0; i < args.depth; ++i) {
            ptx::mbarrier_wait(shared.empty(ring.stage), ring.parity ^ 1);
            load_tail_stage<C>(args, shared, ring.stage, row, col, i * (128 / C::element_bytes));
            ring.advance();
          }
        });
        continue;
      }
    }
    const WorkTile<C> work(args, unit, rank, block_coord);
    const int begun = is_single_block_cluster<C>(size_of_tile<C>(args)) && unit == first_unit(blocks)
                          ? work.prologue_stages(shared.stages)
                          : 0;
    ring.skip(begun);
    for (int i = begun; i < work.count; ++i) {
      ptx::mbarrier_wait(shared.empty(ring.stage), ring.parity ^ 1);
      work.load(args, shared, block_coord, i, ring.stage);
      ring.advance();
    }
  }
}

// Zeroes the elements before the lines of one remainder in a sum's first stage: they may hold NaN,
// whose product with 0 is NaN. Each consumer zeroes those that it reads.
template <class C>
__device__ __forceinline__ void zero_leading_elements(const typename C::Args& args,
                                                      const TileShared<C>& shared, const Ring<C>& ring,
                                                      int remainder, int first_row, int consumer) {
  if constexpr (C::misaligned_rows) {
    const int lead = args.zeros.of(remainder);
    if (lead == 0) return;
    ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
    unsigned char* const panel = args.of_b ? shared.b(ring.stage) : shared.a(ring.stage) + first_row * 128;
    const int lines = args.of_b ? C::cols : C::row_blocks * 64;
    for (int line = opaque_thread_index() % 128; line < lines; line += 128)
      for (int i = 0; i < lead; ++i) panel[line * 128 + line % 8 * 16 + i] = 0;  // the swizzled address
    ptx::fence_proxy_async();
    sync_consumer_warpgroup(consumer);
  }
}

template <class C>
__device__ void consume(const typename C::Args& args, const TileShared<C>& shared, int consumer,
                        std::uint32_t rank) {
  if constexpr (can_overlap_epilogue<C>)
    if (args.overlaps_epilogue && EpilogueScale(args.epilogue).scale_is_normal) {
      if (args.depth < least_overlapped_depth<1>) consume_overlapped<C, 2>(args, shared, consumer, rank);
      else consume_overlapped<C, 1>(args, shared, consumer, rank);
      return;
    }
  const ClusterCoord<C> block_coord = cluster_coord<C>(args, rank);
  const std::uint32_t peers =
      block_coord.multicast_a() | block_coord.multicast_b();  // blocks that load to this one
  const int first_row = consumer * C::row_blocks * 64;
  Ring<C> ring(shared);
  OrderedSequenceBarrier<C>::begin(consumer);
  const int blocks = cluster_blocks<C>(args);
  for (std::int32_t unit = first_unit(blocks); unit < args.units; unit += unit_step(blocks)) {
    if constexpr (C::has_tail) {
      if (unit >= args.main_units) {
        each_tail_tile<C>(args, unit, rank, [&](int row, int col) {
          typename C::Sum sum[C::row_blocks][TailOrder::width / 2];
          if constexpr (IsEmulatedFp32<typename C::Kind>)
            promote_parts<C, TailOrder::width>(args, shared, ring, 0, args.depth, first_row, row + first_row,
                                               consumer, peers, sum);
          else accumulate_tile<C, TailOrder::width>(shared, ring, args.depth, first_row, peers, sum);
          store_tile<C, TailOrder::width / 2>(args, shared, consumer, sum, row + first_row, col);
        });
        continue;
      }
    }
    const int count = stages_of(args, split_of<C>(args.order.at(unit), rank));
    typename C::Sum sum[C::row_blocks][C::sums];
    if constexpr (IsEmulatedFp32<typename C::Kind>) {
      const TileOrder::Tile here = args.order.at(unit);
      promote_parts<C, C::cols>(
          args, shared, ring, first_stage(args, split_of<C>(here, rank)), count, first_row,
          (here.row * C::cluster_rows + static_cast<int>(block_coord.row)) * C::rows + first_row, consumer,
          peers, sum);
    } else {
      if constexpr (C::misaligned_rows) {
        const WorkTile<C> work(args, unit, rank, block_coord);
        if (work.first == 0 && count > 0)
          zero_leading_elements<C>(args, shared, ring, work.origin.remainder, first_row, consumer);
      }
      if constexpr (C::any_size) accumulate_tile_any_size<C>(shared, ring, count, first_row, peers, sum);
      else accumulate_tile<C, C::cols>(shared, ring, count, first_row, peers, sum);
    }
    // Recomputed after the mainloop, which leaves no registers to keep these values.
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    const TileCoord<C> origin(args, tile, block_coord);
    const int row = origin.row + first_row * output_stride<C>(args).row, col = origin.col;
    if constexpr (C::cluster_split_k) {
      if (args.cluster_splits == 1) store_tile<C, C::sums>(args, shared, consumer, sum, row, col);
      else reduce_cluster_splits<C>(args, shared, rank, consumer, sum, origin.row, col);
      continue;
    }
    if constexpr (!IsEmulatedFp32<typename C::Kind> && !C::any_size)
      if (args.order.splits > 1) {
        reduce_splits<C>(args, shared, tile, rank, consumer, sum, row, col);
        continue;
      }
    store_tile<C, C::sums>(args, shared, consumer, sum, row, col);
  }
  OrderedSequenceBarrier<C>::end(consumer);
  if (args.tma_store && threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

struct NoPrologue {};

// The body of a warp-specialized kernel. Warpgroup 0 is the producer, of which one thread issues TMA loads;
// the others are consumers, which issue wgmma.
//   init()                       one thread, before the kernel may read what earlier kernels wrote
//   prologue(shared, rank)       one thread: loads that need no other block and no empty stage
//   producer(shared, rank)       one thread of warpgroup 0
//   consumer_main(shared, i, rank)  each other warpgroup, i its number
// `cluster_reduction`: the blocks of a cluster add their partial sums of one tile. `independent_of_previous`:
// the previous kernel wrote nothing that this one reads, so only this kernel's end waits for it.
template <class C, class Init, class Producer, class Consumer, class Prologue = NoPrologue>
__device__ __forceinline__ void warp_specialized_main(
    unsigned char* raw, const Init& init, const Producer& producer, const Consumer& consumer_main,
    bool cluster_reduction = false, bool independent_of_previous = false, const Prologue& prologue = {},
    const TileSize& size = fixed_size<C>(), int stages = C::stages) {
  const TileShared<C> shared(raw, size.rows, size.cols, stages);
  const int consumers = C::any_size ? size.rows / any_rows : C::consumers;
  const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  const std::uint32_t rank = C::cluster == 1 && !C::cluster_split_k ? 0 : ptx::block_rank_in_cluster();
  if (threadIdx.x == 0) {
    init();
    for (int stage = 0; stage < C::stages; ++stage) {
      ptx::mbarrier_init(shared.full(stage), 1);
      ptx::mbarrier_init(shared.empty(stage),
                         static_cast<std::uint32_t>(consumers * (size.cluster_rows + size.cluster_cols - 1)));
    }
    ptx::fence_mbarrier_init();
    if constexpr (supports_single_block_cluster<C> && !std::is_same_v<Prologue, NoPrologue>) {
      if (is_single_block_cluster<C>(size)) {
        // The prologue's TMA loads use the barriers before any block barrier: the initialisation must be
        // visible to the async proxy.
        ptx::fence_proxy_async();
        if (!independent_of_previous) ptx::griddepcontrol_wait();
        prologue(shared, rank);
      }
    }
  }
  if (is_single_block_cluster<C>(size)) __syncthreads();
  else ptx::cluster_sync();
  // From here on all threads may access global memory that earlier kernels wrote. Only the prologue's TMA
  // loads come before; thread 0 has then executed griddepcontrol.wait itself. Barrier initialisation and
  // tensor map prefetches overlap the previous kernel.
  if (!independent_of_previous) ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();
  if (group == 0) {
    ptx::warpgroup_reg_dealloc<C::consumers == 1 ? 56 : C::consumers == 2 ? 40 : 32>();
    if (threadIdx.x < 32 && ptx::elect_one()) producer(shared, rank);
    __syncwarp();
    if (C::cluster_split_k && cluster_reduction) ptx::cluster_sync();  // the consumers sync once
  } else {
    ptx::warpgroup_reg_alloc<C::consumers == 1 ? 248 : C::consumers == 2 ? 232 : 160>();
    consumer_main(shared, group - 1, rank);
  }
  // A block must not exit while others of its cluster may still access its shared memory.
  if (C::cluster > 1 || (C::cluster_split_k && cluster_reduction)) ptx::cluster_sync();
  // A kernel that waits for this one has to wait for the previous one, too.
  if (independent_of_previous) ptx::griddepcontrol_wait();
}

// True if the range check found that these operands cannot be decomposed into f16 or bf16 components: then
// another kernel computes the product.
template <class C>
__device__ __forceinline__ bool fails_range_check(const WgmmaArgs& args) {
  if constexpr (IsEmulatedFp32<typename C::Kind>)
    return args.emulation.in_range != nullptr && __ldcg(args.emulation.in_range) == 0;
  else return false;
}

template <class C>
__global__ void __launch_bounds__(C::threads, 1)
    multiply_tiles(const __grid_constant__ typename C::Args args) {
  extern __shared__ unsigned char raw[];
  const auto prologue = [&](const TileShared<C>& shared, std::uint32_t rank) {
    if (fails_range_check<C>(args)) return;
    if constexpr (supports_single_block_cluster<C>) load_prologue<C>(args, shared, rank);
  };
  warp_specialized_main<C>(
      raw,
      [&] {
        if (args.depth <= 0) return;
        if constexpr (!C::misaligned_rows) {
          ptx::prefetch_tensormap(args.a);
          ptx::prefetch_tensormap(args.b);
        }
        if (args.tma_store) ptx::prefetch_tensormap(args.c);
      },
      [&](const TileShared<C>& shared, std::uint32_t rank) {
        if (fails_range_check<C>(args)) return;
        produce<C>(args, shared, rank);
      },
      [&](const TileShared<C>& shared, int consumer, std::uint32_t rank) {
        if (fails_range_check<C>(args)) {
          if (C::cluster_split_k && args.cluster_splits > 1)
            ptx::cluster_sync();  // as in reduce_cluster_splits
          return;
        }
        consume<C>(args, shared, consumer, rank);
      },
      args.cluster_splits > 1, args.independent_of_previous, prologue, size_of_tile<C>(args), args.stages);
}

// One warpgroup is producer and consumer.
inline constexpr int one_warpgroup_threads = 128;

template <class C>
__global__ void __launch_bounds__(one_warpgroup_threads, 1)
    multiply_one_warpgroup(const __grid_constant__ WgmmaArgs args) {
  static_assert(C::cluster == 1 && C::consumers == 1);
  extern __shared__ unsigned char raw[];
  const TileShared<C> shared(raw);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < C::stages; ++stage) ptx::mbarrier_init(shared.full(stage), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // with the fence orders mbarrier.init before the first TMA load
  ptx::griddepcontrol_wait();
  ptx::griddepcontrol_launch_dependents();
  const TileOrder::Tile tile = args.order.at(static_cast<std::int32_t>(blockIdx.x));
  const int row = tile.row * C::rows, col = tile.col * C::cols, count = args.depth;
  const ClusterCoord<C> block_coord(0);
  const auto copy = [&](int i) {
    if (threadIdx.x == 0 && i < count)
      load_stage<C>(args, shared, i % C::stages, row, col, i * (128 / C::element_bytes), block_coord);
  };
  for (int i = 0; i + 1 < C::stages; ++i) copy(i);
  typename C::Sum sum[C::row_blocks][C::sums];
#pragma unroll
  for (int i = 0; i < C::row_blocks * C::sums; ++i) sum[i / C::sums][i % C::sums] = 0;
  Ring<C> ring(shared);
  for (int i = 0; i < count; ++i) {
    copy(i + C::stages - 1);  // to the stage that the last iteration read
    ptx::mbarrier_wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, 0, sum, true);
    ptx::wgmma_wait_group<0>();
    __syncthreads();
    ring.advance();
  }
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) ptx::fence_accumulators(sum[block]);
  store_tile<C, C::sums>(args, shared, 0, sum, row, col);
  if (args.tma_store && threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

}  // namespace tessera::matmul
