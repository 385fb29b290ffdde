// SPDX-License-Identifier: Apache-2.0
// What the wgmma kernels are given, and how a block's shared memory is laid out.
#pragma once
#include <cstdint>
#include <cuda.h>
#include "ops/matmul/kernels/matrix_ref.hpp"
#include "ops/matmul/kernels/hopper/emulated_fp32_kinds.cuh"
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/cuda/ptx/cluster.cuh"
#include "tessera/cuda/ptx/mbarrier.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

namespace ptx = cuda::ptx;

// What follows the sums: C = activation(α·s_a[i]·s_b[j]·sum + β·C0 + bias).
struct EpilogueArgs {
  float alpha = 1, beta = 0;
  const void* c0 = nullptr;  // of C's element
  std::int64_t c0_row = 0, c0_col = 0;
  const void* bias = nullptr;
  Element bias_element = Element::f32;
  std::int64_t bias_row = 0, bias_col = 0;
  const float *scale_a = nullptr, *scale_b = nullptr;
  std::int64_t scale_a_step = 0, scale_b_step = 0;
  Activation activation = Activation::none;

  // Nothing but one factor for all.
  bool plain() const {
    return beta == 0 && bias == nullptr && (scale_a == nullptr || scale_a_step == 0) &&
           (scale_b == nullptr || scale_b_step == 0) && activation == Activation::none;
  }
};

struct WgmmaArgs {
  CUtensorMap a, b, c;  // boxes of 128 bytes along the contiguous dimension; c: of 16 rows
  TileScheduler order;
  TailOrder tail;             // beyond the order's tiles
  std::int32_t tiles, units;  // of work: the order's, and all
  TileSize size;              // of a tile that may have any
  std::int64_t m, n;
  std::int32_t depth, split_depth;  // stages, in all and of each split
  std::int32_t cluster_splits;      // blocks that share the sums of a tile, if the tile is for that
  std::int32_t a_bytes, b_bytes;    // of a stage: fewer than a tile's where C has fewer rows, or columns
  // Where the tile may have any size: a block's own share of a stage's lines; stages of the ring.
  std::int32_t a_lines = 0, b_lines = 0, stages = 0;
  EpilogueArgs epilogue;
  void* out;
  Element out_element;
  bool plain;      // nothing but a factor follows the sums, and C's elements have two bytes or more
  bool tma_store;  // C is plain, and stored by the TMA
  bool overlaps_epilogue =
      false;  // results are boxes of 16-bit elements that may be stored beside the next tile's products
  std::int64_t out_row;  // from a row to the next, in elements
  void* partial;         // sums of splits: tile after tile, a thread's `workers` apart
  std::uint32_t*
      arrived;       // of each tile, and from the end on of those who have seen that; 0 before and after
  bool all_at_work;  // each unit has a block of its own, all at the same time
  bool independent_of_previous =
      false;  // the kernel before makes another part of the same product: nothing it writes is read
  EmulatedArgs emulation = {};  // of factors that come in parts
};

// Where one operand's lines begin at any address: LeadingZeros tells what becomes of the other one.
struct MisalignedArgs : WgmmaArgs {
  CUtensorMap lines[LeadingZeros::most];  // of that operand, which a or b in WgmmaArgs is not: see
                                          // lines_of_remainder()
  LeadingZeros zeros;
  bool of_b;                  // it is B; else A
  std::int32_t copied_lines;  // of the other operand, in each of its copies
};

// How a block makes tiles of C.
struct TileConfig {
  int rows, cols;
  int consumers;  // warpgroups that multiply
  int stages;
  // Blocks of a cluster, below and beside each other: those beside share A, those below B.
  int cluster_rows = 1, cluster_cols = 1;
  bool cluster_split_k =
      false;               // as many blocks as the launch says are a cluster, and share the sums of a tile
  bool promoted = false;   // each stage is summed by itself, then added
  bool ping_pong = false;  // of factors in parts: the two consumers ask for products in turn
  bool mn_major_a = false, mn_major_b = false;
  bool misaligned_rows = false;  // one operand's lines begin at any address
  // As many rows, 64 for each consumer, columns and blocks of a cluster as the launch says, up to `rows` and
  // `cols`; and as many stages as fit, `stages` at most.
  bool any_size = false;
};

template <class Kind_, TileConfig config>
struct Tile {
  using Kind = Kind_;
  using Sum = typename Kind::Sum;
  static constexpr int rows = config.rows, cols = config.cols, consumers = config.consumers,
                       stages = config.stages;
  // Of tiles of any size, the most that there may be.
  static constexpr int cluster_rows = config.cluster_rows, cluster_cols = config.cluster_cols,
                       cluster = config.any_size ? most_cluster_blocks : cluster_rows * cluster_cols;
  static constexpr bool cluster_split_k = config.cluster_split_k, promoted = config.promoted,
                        ping_pong = config.ping_pong, mn_major_a = config.mn_major_a,
                        mn_major_b = config.mn_major_b;
  static constexpr int element_bytes = Kind::bytes;
  static constexpr bool misaligned_rows = config.misaligned_rows, any_size = config.any_size;
  using Args = std::conditional_t<misaligned_rows, MisalignedArgs, WgmmaArgs>;
  static constexpr int row_blocks = rows / consumers / 64;  // of 64 rows, of one consumer
  static constexpr int sums = cols / 2;                     // of a thread, in each of them
  static constexpr bool has_tail =
      cols > TailOrder::width && !misaligned_rows && !any_size;  // whether it can do with fewer
  static constexpr int a_bytes = rows * 128, b_bytes = cols * 128, stage_bytes = a_bytes + b_bytes;
  static constexpr int threads = (consumers + 1) * 128, workers = consumers * 128;
  // C on its way out, for each consumer: two boxes of 64 rows of 128 bytes, or 64 × 64 sums.
  static constexpr int box_bytes = matmul::box_bytes, out_bytes = matmul::out_bytes;
  // Of tiles of any size, what is left beside the boxes of all consumers: fewer leave room for more stages.
  static constexpr int ring_bytes = any_size ? any_size_bytes - consumers * out_bytes : stages * stage_bytes;
  // Of factors in parts: the scales of a tile's columns, for each two stages, behind the barriers.
  static constexpr int scale_bytes = has_scales<Kind> ? cols * 4 : 0,
                       scales_at = (ring_bytes + consumers * out_bytes + 2 * stages * 8 + 15) / 16 * 16;
  static constexpr int shared_bytes = has_scales<Kind>
                                          ? scales_at + stages / 2 * scale_bytes + 1024
                                          : ring_bytes + consumers * out_bytes + 2 * stages * 8 + 1024;
  static_assert(!IsEmulatedFp32<Kind> || (promoted && stages % stages_of_sum == 0));
  static_assert(!misaligned_rows || (cluster == 1 && !mn_major_a && !mn_major_b && !IsEmulatedFp32<Kind>));
  static_assert(!any_size || (!mn_major_a && !mn_major_b && !cluster_split_k && !IsEmulatedFp32<Kind> &&
                              rows == consumers * 64));
  static_assert(!cluster_split_k || (cluster == 1 && row_blocks == 1));
  static_assert(shared_bytes <= 227 * 1024 && row_blocks * sums + (promoted ? sums : 0) <= 192);
};

// Of how many columns, and how many of them, parts of a tile's sums are added.
inline constexpr int slice_cols = 64;
template <class C>
inline constexpr int split_slices = C::cols / slice_cols;

// Of a tile, as the launch says where it may have any.
template <class C>
TESSERA_HOST_DEVICE constexpr TileSize fixed_size() {
  return {C::rows, C::cols, C::cluster_rows, C::cluster_cols};
}
template <class C>
TESSERA_HOST_DEVICE TileSize size_of_tile(const WgmmaArgs& args) {
  return C::any_size ? args.size : fixed_size<C>();
}

// Whether a block may be a cluster by itself, and whether it is.
template <class C>
inline constexpr bool supports_single_block_cluster = C::any_size || C::cluster == 1;
template <class C>
__device__ __forceinline__ bool is_single_block_cluster(const TileSize& size) {
  return C::any_size ? size.cluster() == 1 : C::cluster == 1;
}

template <class C>
struct TileShared {
  unsigned char* base;
  int rows, cols, stages;

  __device__ explicit TileShared(unsigned char* raw, int rows = C::rows, int cols = C::cols,
                                 int stages = C::stages)
      : base(raw + (1024 - ptx::shared_address(raw) % 1024) % 1024),
        rows(C::any_size ? rows : C::rows),
        cols(C::any_size ? cols : C::cols),
        stages(C::any_size ? stages : C::stages) {}
  __device__ int a_bytes() const { return rows * 128; }
  __device__ int stage_bytes() const { return (rows + cols) * 128; }
  __device__ unsigned char* a(int stage) const { return base + stage * stage_bytes(); }
  __device__ unsigned char* b(int stage) const { return a(stage) + a_bytes(); }
  // In front of the barriers.
  __device__ unsigned char* out(int consumer) const {
    constexpr int end = C::ring_bytes + C::consumers * C::out_bytes;
    return base +
           (C::any_size ? end - (consumer + 1) * C::out_bytes : C::ring_bytes + consumer * C::out_bytes);
  }
  __device__ ptx::Mbarrier& full(int stage) const {
    return reinterpret_cast<ptx::Mbarrier*>(base + C::ring_bytes + C::consumers * C::out_bytes)[stage];
  }
  __device__ ptx::Mbarrier& empty(int stage) const { return (&full(0))[C::stages + stage]; }
  // Of the two stages that this one is the first of.
  __device__ float* scales(int stage) const {
    return reinterpret_cast<float*>(base + C::scales_at + stage / stages_of_sum * C::scale_bytes);
  }
};

// This thread's number, from which the compiler computes again what it could have kept: while products are
// summed there are no registers for that.
__device__ __forceinline__ int opaque_thread_index() { return ptx::opaque(static_cast<int>(threadIdx.x)); }

// Where a ring of stages is.
template <class C>
struct Ring {
  int stages, stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ explicit Ring(const TileShared<C>& shared) : stages(shared.stages) {}
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  __device__ __forceinline__ void skip(int count) {
    const int to = stage + count;
    stage = to % stages;
    parity ^= to / stages & 1;
  }
};

}  // namespace tessera::matmul
