// SPDX-License-Identifier: Apache-2.0
// The arguments of the wgmma kernels, and the layout of a block's shared memory.
#pragma once
#include <cstdint>
#include <cuda.h>
#include "ops/matmul/kernels/pack/matrix_ref.hpp"
#include "ops/matmul/kernels/wgmma/emulated_fp32_kinds.cuh"
#include "ops/matmul/plans/tile_plan.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/cuda/ptx/control.cuh"
#include "tessera/cuda/ptx/mbarrier.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

namespace ptx = cuda::ptx;

// The epilogue: C = activation(α·s_a[i]·s_b[j]·sum + β·C0 + bias).
struct EpilogueArgs {
  float alpha = 1, beta = 0;
  const void* c0 = nullptr;  // has C's element type
  std::int64_t c0_row_stride = 0, c0_col_stride = 0;
  const void* bias = nullptr;
  Element bias_element = Element::f32;
  std::int64_t bias_row_stride = 0, bias_col_stride = 0;
  const float *scale_a = nullptr, *scale_b = nullptr;
  std::int64_t scale_a_stride = 0, scale_b_stride = 0;
  PostOp post_op;

  // True if the epilogue only scales by one scalar (no β·C0, bias, activation, scales per row or column).
  bool is_scalar_only() const {
    return beta == 0 && bias == nullptr && (scale_a == nullptr || scale_a_stride == 0) &&
           (scale_b == nullptr || scale_b_stride == 0) && post_op.is_identity();
  }
};

struct WgmmaArgs {
  CUtensorMap a, b, c;  // box: 128 bytes along the contiguous dimension; c: 16 rows
  TileScheduler order;
  std::int32_t units;  // units of work, order.count()
  TileShape shape;     // for tiles of runtime shape
  std::int64_t m, n;
  std::int32_t k_tile_count, k_tiles_per_split;  // in the product; in each split or segment
  std::int32_t cluster_splits;                   // blocks per cluster in cluster split-K (1: none)
  std::int32_t a_tx_bytes,
      b_tx_bytes;  // expect-tx of a stage's A and B; less than their sizes if C is smaller than a tile
  std::int32_t stages = 0;  // for tiles of runtime shape
  EpilogueArgs epilogue;
  void* c_data;
  Element c_element;
  bool use_staged_scalar_epilogue;  // is_scalar_only(), and C's elements have at least 2 bytes:
                                    // store_scalar_only() is used
  bool tma_store;                   // use_staged_scalar_epilogue, and the TMA stores C
  bool overlaps_epilogue = false;   // the 16-bit results may be stored while the next tile is multiplied
  std::int64_t c_stride;            // C's row stride, in elements
  void* partial;                    // split-K partial sums, one slot per tile and split
  // arrived[t] counts arrivals at tile t, arrived[max_split_tiles - 1 - t] departures; 0 before and after a
  // launch.
  std::uint32_t* arrived;
  // True if the blocks that compute a tile's splits may wait for each other: the launch is cooperative with
  // one cluster for each unit, so all are resident. False without split-K.
  bool splits_can_wait;
  bool independent_of_previous =
      false;                    // the previous kernel in the stream writes nothing that this one reads
  EmulatedArgs emulation = {};  // for emulated FP32
};

// For emulated FP32: the launch with the requested components, and the same one with bf16 components.
struct EmulatedLaunchArgs {
  WgmmaArgs requested, bf16;
  const Compute* used = nullptr;  // the device's choice of these, or strict; null: there are no components
};

// For an operand with misaligned rows: RowAlignment says how the other operand is copied.
struct MisalignedArgs : WgmmaArgs {
  CUtensorMap tensor_maps[RowAlignment::max_classes];  // maps of the misaligned operand, instead of a or b:
                                                       // see rows_of_class()
  RowAlignment alignment;
  bool misaligned_is_b;      // the misaligned operand is B; else A
  std::int32_t copied_rows;  // rows in each copy of the other operand
};

// The shape of a tile of C and of the block that computes it.
struct TileConfig {
  int rows, cols;
  int consumer_warpgroups;
  int stages;
  // The cluster's shape in blocks. Blocks of one cluster row load the same rows of A, those of one cluster
  // column the same columns of B.
  int cluster_rows = 1, cluster_cols = 1;
  bool cluster_split_k = false;      // split-K over the blocks of a cluster, whose size is a launch parameter
  bool promoted = false;             // each k tile is accumulated separately, then added in f32
  bool ordered_wgmma_issue = false;  // for emulated FP32: see OrderedSequenceBarrier
  bool mn_major_a = false, mn_major_b = false;
  bool misaligned_rows = false;  // one operand's rows may begin at any address
  // Rows (64 for each consumer), columns and cluster shape are launch parameters: at most `rows`, `cols` and
  // max_cluster_blocks blocks. There are as many stages as fit, at most `stages`.
  bool runtime_shape = false;
  // One block adds the parts of a split sum one after the other, with the additions of split-K.
  bool segmented = false;
};

template <class Kind_, TileConfig config>
struct TileTraits {
  using Kind = Kind_;
  using Accumulator = typename Kind::Accumulator;
  static constexpr int rows = config.rows, cols = config.cols,
                       consumer_warpgroups = config.consumer_warpgroups, stages = config.stages;
  // cluster_size: the number of blocks that multicast to each other; for tiles of runtime shape its maximum
  // (cluster_rows and cluster_cols are not used then). Cluster split-K launches clusters that are
  // args.cluster_splits times as large.
  static constexpr int cluster_rows = config.cluster_rows, cluster_cols = config.cluster_cols,
                       cluster_size = config.runtime_shape ? max_cluster_blocks : cluster_rows * cluster_cols;
  static constexpr bool cluster_split_k = config.cluster_split_k, promoted = config.promoted,
                        ordered_wgmma_issue = config.ordered_wgmma_issue, mn_major_a = config.mn_major_a,
                        mn_major_b = config.mn_major_b;
  static constexpr int element_bytes = Kind::bytes;
  static constexpr bool misaligned_rows = config.misaligned_rows, runtime_shape = config.runtime_shape,
                        segmented = config.segmented;
  using Args = std::conditional_t<misaligned_rows, MisalignedArgs, WgmmaArgs>;
  static constexpr int m_tiles = rows / consumer_warpgroups / 64;  // M tiles of 64 rows per consumer
  static constexpr int accumulators = cols / 2;                    // per thread and M tile
  static constexpr int a_bytes = rows * 128, b_bytes = cols * 128, stage_bytes = a_bytes + b_bytes;
  static constexpr int threads = (consumer_warpgroups + 1) * 128,
                       consumer_threads = consumer_warpgroups * 128;
  // Each consumer has epilogue_smem_bytes: two staging buffers, or 64 × 64 accumulators. A staging buffer is
  // 64 rows of 128 bytes: four boxes of C's tensor map, 16 rows each, one stored by each warp.
  static constexpr int staging_buffer_bytes = matmul::staging_buffer_bytes,
                       epilogue_smem_bytes = matmul::epilogue_smem_bytes;
  // The size of the stages; for a tile of runtime shape, with the maximum number of consumer warpgroups. With
  // fewer, the stages (stage_count() in tile_plan.hpp) also occupy the unused staging buffers, since
  // epilogue_smem() assigns the buffers from the last to the first.
  static constexpr int pipeline_bytes =
      runtime_shape ? runtime_shape_bytes - consumer_warpgroups * epilogue_smem_bytes : stages * stage_bytes;
  // For emulated FP32 with scales: the scales of a tile's columns, one set for each promotion interval
  // (promotion_k_tiles k tiles) in the pipeline, after the mbarriers.
  static constexpr int scale_bytes = has_scales<Kind> ? cols * 4 : 0,
                       scales_at = (pipeline_bytes + consumer_warpgroups * epilogue_smem_bytes +
                                    2 * stages * 8 + 15) /
                                   16 * 16;
  static constexpr int shared_bytes =
      has_scales<Kind> ? scales_at + stages / 2 * scale_bytes + 1024
                       : pipeline_bytes + consumer_warpgroups * epilogue_smem_bytes + 2 * stages * 8 + 1024;
  static_assert(!IsEmulatedFp32<Kind> || (promoted && stages % promotion_k_tiles == 0));
  static_assert(!misaligned_rows ||
                (cluster_size == 1 && !mn_major_a && !mn_major_b && !IsEmulatedFp32<Kind>));
  static_assert(!runtime_shape || (!mn_major_a && !mn_major_b && !cluster_split_k && !IsEmulatedFp32<Kind> &&
                                   rows == consumer_warpgroups * 64));
  static_assert(!cluster_split_k || (cluster_size == 1 && m_tiles == 1));
  static_assert(!segmented || runtime_shape);
  static_assert(shared_bytes <= 227 * 1024 &&
                m_tiles * accumulators + (promoted + segmented) * accumulators <= 192);
};

// Return the tile's shape: a constant, or a launch parameter for tiles of runtime shape.
template <class Traits>
TESSERA_HOST_DEVICE constexpr TileShape fixed_shape() {
  return {Traits::rows, Traits::cols, Traits::cluster_rows, Traits::cluster_cols};
}
template <class Traits>
TESSERA_HOST_DEVICE TileShape shape_of_tile(const WgmmaArgs& args) {
  return Traits::runtime_shape ? args.shape : fixed_shape<Traits>();
}

// True if this kernel can be launched without multicast, so that each block loads all its operands itself, as
// do the blocks of cluster split-K.
template <class Traits>
inline constexpr bool can_run_without_multicast = Traits::runtime_shape || Traits::cluster_size == 1;
// True if this launch has no multicast. Then no block loads to another's shared memory, or arrives at its
// barriers, before the epilogue.
template <class Traits>
__device__ __forceinline__ bool has_no_multicast(const TileShape& shape) {
  return Traits::runtime_shape ? shape.cluster_size() == 1 : Traits::cluster_size == 1;
}

// Returns the number of blocks in a cluster of the launch.
template <class Traits>
__device__ __forceinline__ int cluster_blocks(const WgmmaArgs& args) {
  return Traits::cluster_split_k ? args.cluster_splits : shape_of_tile<Traits>(args).cluster_size();
}

template <class Traits>
struct TileShared {
  unsigned char* base;
  int rows, cols, stages;

  __device__ explicit TileShared(unsigned char* raw, int rows = Traits::rows, int cols = Traits::cols,
                                 int stages = Traits::stages)
      : base(raw + (1024 - ptx::shared_address(raw) % 1024) % 1024),
        rows(Traits::runtime_shape ? rows : Traits::rows),
        cols(Traits::runtime_shape ? cols : Traits::cols),
        stages(Traits::runtime_shape ? stages : Traits::stages) {}
  __device__ int a_bytes() const { return rows * 128; }
  __device__ int stage_bytes() const { return (rows + cols) * 128; }
  __device__ unsigned char* a(int stage) const { return base + stage * stage_bytes(); }
  __device__ unsigned char* b(int stage) const { return a(stage) + a_bytes(); }
  // The staging buffers lie before the barriers.
  __device__ unsigned char* epilogue_smem(int consumer) const {
    constexpr int end = Traits::pipeline_bytes + Traits::consumer_warpgroups * Traits::epilogue_smem_bytes;
    return base + (Traits::runtime_shape ? end - (consumer + 1) * Traits::epilogue_smem_bytes
                                         : Traits::pipeline_bytes + consumer * Traits::epilogue_smem_bytes);
  }
  __device__ ptx::Mbarrier& full(int stage) const {
    return reinterpret_cast<ptx::Mbarrier*>(base + Traits::pipeline_bytes +
                                            Traits::consumer_warpgroups * Traits::epilogue_smem_bytes)[stage];
  }
  __device__ ptx::Mbarrier& empty(int stage) const { return (&full(0))[Traits::stages + stage]; }
  // Returns the scales of the promotion interval whose first stage is `stage`.
  __device__ float* scales(int stage) const {
    return reinterpret_cast<float*>(base + Traits::scales_at +
                                    stage / promotion_k_tiles * Traits::scale_bytes);
  }
};

// Returns threadIdx.x, opaque to the compiler, so that values derived from it are recomputed instead of being
// kept live in registers across the mainloop.
__device__ __forceinline__ int opaque_thread_index() { return ptx::opaque(static_cast<int>(threadIdx.x)); }

// The position in the pipeline: a stage's index and the parity of its barriers' phase.
template <class Traits>
struct PipelineState {
  int stages, index = 0;
  std::uint32_t phase = 0;
  __device__ __forceinline__ explicit PipelineState(const TileShared<Traits>& shared)
      : stages(shared.stages) {}
  __device__ __forceinline__ void advance() {
    if (++index == stages) index = 0, phase ^= 1;
  }
  __device__ __forceinline__ void skip(int count) {
    const int to = index + count;
    index = to % stages;
    phase ^= to / stages & 1;
  }
};

}  // namespace tessera::matmul
