// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 12. A ring of stages in shared memory, filled by asynchronous copies; warps that each
// multiply a tile of their own, block by block, loading the next block while the tensor cores have this one.
#pragma once
#include "mma_copies.cuh"
#include "mma_results.cuh"

namespace tessera::matmul {

template <class Kind_, MmaConfig config_, Along along_a, Along along_b>
struct MmaTile {
  using Kind = Kind_;
  static constexpr MmaConfig config = config_;
  static constexpr int threads = config.threads(), slice_threads = config.slice_threads(),
                       stages = config.stages;
  static constexpr int row_blocks = config.warp_rows / 16, col_blocks = config.warp_cols / 16;
  using PanelA = MmaPanel<Kind::bytes, config.rows, along_a>;
  using PanelB = MmaPanel<Kind::bytes, config.cols, along_b>;
  using CopierA = MmaCopier<Kind, PanelA, slice_threads>;
  using CopierB = MmaCopier<Kind, PanelB, slice_threads>;
  static constexpr int depth = PanelA::depth, steps = depth / 16;
  static constexpr int stage_bytes = PanelA::size + PanelB::size, ahead = stages - 1;
  using Sums = MmaSums<Kind, row_blocks, col_blocks>;
  static_assert(stages >= 3 && stages * stage_bytes == config.slice_bytes());
  static_assert(config.rows * config.cols * static_cast<int>(sizeof(typename Kind::Sum)) <=
                config.slice_bytes());
  static_assert(config.slices == 1 || slice_threads == 32, "a slice is a warp's: it meets nobody on its way");

  const MmaArgs<Kind>& args;
  unsigned char* const block_memory;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int thread = static_cast<int>(threadIdx.x) % slice_threads;
  const int slice = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / slice_threads, 0);
  unsigned char* const memory = block_memory + slice * config.slice_bytes();
  const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);        // known to be the warp's alone
  const int row = warp / config.warps_across() * config.warp_rows;  // of the warp's tile in the block's
  const int col = warp % config.warps_across() * config.warp_cols;
  const typename Kind::template Loads<PanelA> loads_a{row, lane};
  const typename Kind::template Loads<PanelB> loads_b{col, lane};

  static __device__ __forceinline__ void sync() {
    if constexpr (config.slices > 1) __syncwarp();
    else __syncthreads();
  }

  __device__ __forceinline__ void load_a(typename Kind::Block& a, const unsigned char* stage, int step,
                                         int i) const {
    Kind::template load<PanelA>(a, stage, loads_a, i, step);
  }
  __device__ __forceinline__ void load_b(typename Kind::Block& b, const unsigned char* stage, int step,
                                         int j) const {
    Kind::template load<PanelB>(b, stage + PanelA::size, loads_b, j, step);
  }

  // Where the threads are in the ring, and in k.
  struct Progress {
    const unsigned char* reading;
    unsigned char *writing, *end;
    int left, k_left;  // stages to multiply; steps of k that are not on their way yet
  };

  __device__ __forceinline__ void copy_a(CopierA& from, unsigned char* stage, bool inside, int k_left) const {
    from.copy(stage, inside && k_left >= depth, k_left);
  }
  __device__ __forceinline__ void copy_b(CopierB& from, unsigned char* stage, bool inside, int k_left) const {
    from.copy(stage + PanelA::size, inside && k_left >= depth, k_left);
  }

  // `count` stages of the sum. While one is multiplied, stages - 1 others are on their way.
  __device__ __forceinline__ void sum_up(Sums& sums, CopierA& from_a, CopierB& from_b, bool inside,
                                         int k_left, int count) const {
    for (int s = 0; s < ahead; ++s) {
      if (s < count) {
        copy_a(from_a, memory + s * stage_bytes, inside, k_left);
        copy_b(from_b, memory + s * stage_bytes, inside, k_left);
      }
      ptx::commit_copies();
      k_left -= depth;
    }
    ptx::wait_for_copies<ahead - 1>();
    sync();
    typename Kind::Block a, b[col_blocks];
    Progress at{memory, memory + ahead * stage_bytes, memory + stages * stage_bytes, count, k_left};
    load_a(a, at.reading, 0, 0);
#pragma unroll
    for (int j = 0; j < col_blocks; ++j) load_b(b[j], at.reading, 0, j);
    for (; at.left > 0; --at.left) multiply_stage(sums, a, b, from_a, from_b, inside, at);
    ptx::wait_for_copies<0>();
    sync();  // the ring is free for the results
  }

  // Block row by block row; meanwhile the next one's part of A comes from shared memory, at the end what the
  // next stage begins with, of B in registers of its own, since a load waits for the product that still reads
  // what it replaces. Copies begin between products, which they take no time from.
  __device__ __forceinline__ void multiply_stage(Sums& sums, typename Kind::Block& a,
                                                 typename Kind::Block (&b)[col_blocks], CopierA& from_a,
                                                 CopierB& from_b, bool inside, Progress& at) const {
    constexpr int turns = steps * row_blocks, last = turns - 1;
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      if (turn == last) {  // all of this stage has been loaded: go to the next
        ptx::wait_for_copies<turns == 1 ? ahead - 2 : ahead - 1>();
        sync();
        at.reading = at.reading + stage_bytes == at.end ? memory : at.reading + stage_bytes;
      }
      const int next = (turn + 1) % turns;
      const bool next_step = next % row_blocks == 0;
      typename Kind::Block next_a, next_b[col_blocks];
      load_a(next_a, at.reading, next / row_blocks, next % row_blocks);
      if (next_step) {
#pragma unroll
        for (int j = 0; j < col_blocks; ++j) load_b(next_b[j], at.reading, next / row_blocks, j);
      }
#pragma unroll
      for (int j = 0; j < col_blocks; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          Kind::multiply(sums.of(turn % row_blocks, j, half), a, b[j], half);
        // The stage before this one is free since all have left it.
        if (j == 0 && turn == 0 && at.left > ahead) copy_a(from_a, at.writing, inside, at.k_left);
        if (turn == (turns > 2 ? 1 : 0) && j == (turns > 2 ? 0 : col_blocks - 1)) {
          if (at.left > ahead) copy_b(from_b, at.writing, inside, at.k_left);
          ptx::commit_copies();
          at.k_left -= depth;
          at.writing = at.writing + stage_bytes == at.end ? memory : at.writing + stage_bytes;
        }
      }
      a = next_a;
      if (next_step) {
#pragma unroll
        for (int j = 0; j < col_blocks; ++j) b[j] = next_b[j];
      }
    }
  }

  __device__ __forceinline__ void run() const {
    // Others, whose registers are full, took 7 % longer so.
    const auto unit = static_cast<std::int32_t>(blockIdx.x);
    const TileOrder::Tile tile = config.slices > 1 ? args.walk.at(unit) : args.order.at(unit);
    const std::int64_t first_row = std::int64_t{tile.row} * config.rows,
                       first_col = std::int64_t{tile.col} * config.cols;
    const std::int32_t share = (args.split_depth + config.slices - 1) / config.slices;
    const std::int64_t first_stage = std::int64_t{tile.split} * args.split_depth + slice * share;
    const std::int64_t left = args.depth - first_stage;
    const int count = left < share ? static_cast<int>(left) : share;
    Sums sums;
    sums.clear();
    if (count > 0) {
      CopierA from_a(args.a, thread, first_row, first_stage * depth);
      CopierB from_b(args.b, thread, first_col, first_stage * depth);
      const bool inside = first_row + config.rows <= args.a.lines && first_col + config.cols <= args.b.lines;
      // To the end of k, or of this split, whose stages are whole.
      sum_up(sums, from_a, from_b, inside, static_cast<int>(args.k - first_stage * depth), count);
    }
    if constexpr (config.slices > 1) {
      store_slices<config>(args, memory, slice, sums, first_row, first_col, lane);
    } else {
      if (args.order.splits > 1 && !join_splits<threads>(args, tile, sums)) return;
      store_sums<config>(args, memory, sums, first_row + row, first_col + col, warp, lane);
    }
  }
};

}  // namespace tessera::matmul
