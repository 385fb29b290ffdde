// SPDX-License-Identifier: Apache-2.0
// The arguments of the wgmma kernels, and the layout of a block's shared memory.
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

// The epilogue: C = activation(α·s_a[i]·s_b[j]·sum + β·C0 + bias).
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

  // True if the epilogue is a product with one scalar.
  bool plain() const {
    return beta == 0 && bias == nullptr && (scale_a == nullptr || scale_a_step == 0) &&
           (scale_b == nullptr || scale_b_step == 0) && activation == Activation::none;
  }
};

struct WgmmaArgs {
  CUtensorMap a, b, c;  // box: 128 bytes along the contiguous dimension; c: 16 rows
  TileScheduler order;
  TailOrder tail;                  // narrow tiles for the remaining columns
  std::int32_t main_units, units;  // work units: without and with those of tail tiles
  TileSize size;                   // for tiles of any size
  std::int64_t m, n;
  std::int32_t depth, split_depth;  // stages, in all and of each split
  std::int32_t cluster_splits;      // split-K over a cluster: its blocks
  std::int32_t a_bytes, b_bytes;    // of a stage; less than a tile's if C is smaller
  // For tiles of any size: the lines of a stage that this block loads, and the stages of the ring.
  std::int32_t a_lines = 0, b_lines = 0, stages = 0;
  EpilogueArgs epilogue;
  void* out;
  Element out_element;
  bool plain;                      // EpilogueArgs::plain(), and C's elements have at least two bytes
  bool tma_store;                  // the epilogue is plain, and the TMA stores C
  bool overlaps_epilogue = false;  // the 16-bit results may be stored while the next tile is multiplied
  std::int64_t out_row;            // the row stride of C, in elements
  void* partial;                   // split-K partial sums: tile after tile; a thread's are `workers` apart
  // Per tile: arrivals from the array's front, departures counted backwards from its end; 0 before and after
  // a run.
  std::uint32_t* arrived;
  bool all_resident;  // each unit has its own block, and all blocks are resident
  bool independent_of_previous =
      false;                    // the previous kernel in the stream writes nothing that this one reads
  EmulatedArgs emulation = {};  // of emulated FP32
};

// For an operand with misaligned rows: LeadingZeros says how the other operand is copied.
struct MisalignedArgs : WgmmaArgs {
  CUtensorMap lines[LeadingZeros::most];  // of the misaligned operand, instead of a or b: see
                                          // lines_of_remainder()
  LeadingZeros zeros;
  bool of_b;                  // the misaligned operand is B; else A
  std::int32_t copied_lines;  // of each copy of the other operand
};

// The shape of a tile of C and of the block that computes it.
struct TileConfig {
  int rows, cols;
  int consumers;  // warpgroups
  int stages;
  // The cluster's shape in blocks. Blocks of one cluster row load the same rows of A, those of one cluster
  // column the same columns of B.
  int cluster_rows = 1, cluster_cols = 1;
  bool cluster_split_k = false;  // split-K over the blocks of a cluster, whose size is a launch parameter
  bool promoted = false;         // each stage has its own accumulators, which are added in f32
  bool ping_pong = false;        // of emulated FP32: the consumers issue wgmma in turn, on a common tile
  bool mn_major_a = false, mn_major_b = false;
  bool misaligned_rows = false;  // one operand's lines may begin at any address
  // Rows (64 for each consumer), columns and cluster shape are launch parameters, at most `rows`, `cols`, …;
  // the ring has as many stages as fit, at most `stages`.
  bool any_size = false;
};

template <class Kind_, TileConfig config>
struct Tile {
  using Kind = Kind_;
  using Sum = typename Kind::Accumulator;
  static constexpr int rows = config.rows, cols = config.cols, consumers = config.consumers,
                       stages = config.stages;
  // For tiles of any size, the maximum.
  static constexpr int cluster_rows = config.cluster_rows, cluster_cols = config.cluster_cols,
                       cluster = config.any_size ? most_cluster_blocks : cluster_rows * cluster_cols;
  static constexpr bool cluster_split_k = config.cluster_split_k, promoted = config.promoted,
                        ping_pong = config.ping_pong, mn_major_a = config.mn_major_a,
                        mn_major_b = config.mn_major_b;
  static constexpr int element_bytes = Kind::bytes;
  static constexpr bool misaligned_rows = config.misaligned_rows, any_size = config.any_size;
  using Args = std::conditional_t<misaligned_rows, MisalignedArgs, WgmmaArgs>;
  static constexpr int row_blocks = rows / consumers / 64;  // of 64 rows, per consumer
  static constexpr int sums = cols / 2;                     // accumulators of a thread per row block
  static constexpr bool has_tail =
      cols > TailOrder::width && !misaligned_rows && !any_size;  // the kernel computes tail tiles, too
  static constexpr int a_bytes = rows * 128, b_bytes = cols * 128, stage_bytes = a_bytes + b_bytes;
  static constexpr int threads = (consumers + 1) * 128, workers = consumers * 128;
  // The epilogue's staging buffer of each consumer: two TMA boxes of 64 rows of 128 bytes, or 64 × 64 sums.
  static constexpr int box_bytes = matmul::box_bytes, out_bytes = matmul::out_bytes;
  // A tile of any size gives the ring what the staging buffers leave: fewer consumers leave space for more
  // stages.
  static constexpr int ring_bytes = any_size ? any_size_bytes - consumers * out_bytes : stages * stage_bytes;
  // For emulated FP32 with scales: the scales of a tile's columns, one set for each two stages, behind the
  // barriers.
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

// Partial sums are reduced in chunks of chunk_cols columns; the number of chunks in a tile.
inline constexpr int slice_cols = 64;
template <class C>
inline constexpr int split_slices = C::cols / slice_cols;

// The tile's size: a constant, or a launch parameter for tiles of any size.
template <class C>
TESSERA_HOST_DEVICE constexpr TileSize fixed_size() {
  return {C::rows, C::cols, C::cluster_rows, C::cluster_cols};
}
template <class C>
TESSERA_HOST_DEVICE TileSize size_of_tile(const WgmmaArgs& args) {
  return C::any_size ? args.size : fixed_size<C>();
}

// True if clusters may consist of one block.
template <class C>
inline constexpr bool supports_single_block_cluster = C::any_size || C::cluster == 1;
// True if they do.
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
  // The staging buffers lie before the barriers.
  __device__ unsigned char* out(int consumer) const {
    constexpr int end = C::ring_bytes + C::consumers * C::out_bytes;
    return base +
           (C::any_size ? end - (consumer + 1) * C::out_bytes : C::ring_bytes + consumer * C::out_bytes);
  }
  __device__ ptx::Mbarrier& full(int stage) const {
    return reinterpret_cast<ptx::Mbarrier*>(base + C::ring_bytes + C::consumers * C::out_bytes)[stage];
  }
  __device__ ptx::Mbarrier& empty(int stage) const { return (&full(0))[C::stages + stage]; }
  // Stages come in pairs with common scales; `stage` is the first of a pair.
  __device__ float* scales(int stage) const {
    return reinterpret_cast<float*>(base + C::scales_at + stage / stages_of_sum * C::scale_bytes);
  }
};

// threadIdx.x, opaque to the compiler: it recomputes what depends on it instead of keeping registers, of
// which the mainloop leaves none.
__device__ __forceinline__ int opaque_thread_index() { return ptx::opaque(static_cast<int>(threadIdx.x)); }

// The position in the ring of stages: the stage and the parity of its barriers' phase.
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
