// SPDX-License-Identifier: Apache-2.0
// What the kernel of the tensor core rungs is given, and how a block's shared memory is laid out.
#pragma once
#include <cuda.h>
#include <cstdint>
#include "ops/matmul/tile_order.hpp"
#include "tessera/cuda/ptx/mbarrier.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

namespace ptx = cuda::ptx;

// What follows the sums: C = activation(α·s_a[i]·s_b[j]·sum + β·C0 + bias).
struct TensorEpilogue {
  float alpha = 1, beta = 0;
  const void* c0 = nullptr;  // of C's element
  std::int64_t c0_row = 0, c0_col = 0;
  const void* bias = nullptr;  // of C's element
  std::int64_t bias_row = 0, bias_col = 0;
  const float *scale_a = nullptr, *scale_b = nullptr;
  std::int64_t scale_a_step = 0, scale_b_step = 0;
  bool relu = false;
  bool plain = true;  // nothing but α
};

struct TensorArgs {
  CUtensorMap a, b, c;  // boxes of 128 bytes along the contiguous dimension; c: of 64 rows
  TileOrder order;
  std::int64_t m, n;
  std::int32_t depth, split_depth;  // stages, in all and of each split
  std::int32_t a_bytes;             // of a stage: fewer than a tile's where C has fewer rows than a tile
  TensorEpilogue epilogue;
  void* out;
  std::int64_t out_row;    // from a row to the next, in elements
  float* partial;          // of splits: tile after tile, a thread's sums `threads` apart
  std::uint32_t* arrived;  // of each tile; 0 before and after
  bool boxed;              // C is stored by the copy engine
};

// Of a tile of C. `rows` of a block, all consumers together.
template <class Kind_, class Out_, int rows_, int cols_, int consumers_, int stages_, int cluster_rows_, int cluster_cols_,
          bool turn_a_ = false, bool turn_b_ = false>
struct TileConfig {
  using Kind = Kind_;
  using Out = Out_;
  static constexpr int rows = rows_, cols = cols_, consumers = consumers_, stages = stages_;
  // Blocks of a cluster, below and beside each other: those beside share A, those below B.
  static constexpr int cluster_rows = cluster_rows_, cluster_cols = cluster_cols_, cluster = cluster_rows * cluster_cols;
  static constexpr bool turn_a = turn_a_, turn_b = turn_b_;
  static constexpr int element_bytes = Kind::bytes;
  static constexpr int row_bytes = 128;  // of a stage, along k
  static constexpr int row_blocks = rows / consumers / 64;  // of 64 rows, of one consumer
  static constexpr int a_bytes = rows * row_bytes, b_bytes = cols * row_bytes;
  static constexpr int stage_bytes = a_bytes + b_bytes;
  static constexpr int threads = (consumers + 1) * 128;
  // C on its way out: 64 rows of 128 bytes a box.
  static constexpr int box_bytes = 64 * 128, box_cols = 128 / static_cast<int>(sizeof(Out));
  static constexpr int boxes = sizeof(Out) == 2 ? (cols == box_cols ? 1 : 2) : 0;
  static constexpr int out_bytes = consumers * boxes * box_bytes;
  static constexpr int shared_bytes = stages * stage_bytes + out_bytes + 2 * stages * 8 + 1024;
  static constexpr int sums = cols / 2;
};

template <class C>
struct TileShared {
  unsigned char* base;

  __device__ explicit TileShared(unsigned char* raw)
      : base(raw + (1024 - ptx::shared_address(raw) % 1024) % 1024) {}
  __device__ unsigned char* a(int stage) const { return base + stage * C::stage_bytes; }
  __device__ unsigned char* b(int stage) const { return a(stage) + C::a_bytes; }
  __device__ unsigned char* out(int consumer) const {
    return base + C::stages * C::stage_bytes + consumer * C::boxes * C::box_bytes;
  }
  __device__ ptx::Barrier& full(int stage) const {
    return reinterpret_cast<ptx::Barrier*>(base + C::stages * C::stage_bytes + C::out_bytes)[stage];
  }
  __device__ ptx::Barrier& empty(int stage) const { return (&full(0))[C::stages + stage]; }
};

// Where a ring of stages is.
template <int stages>
struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

}  // namespace tessera::matmul
