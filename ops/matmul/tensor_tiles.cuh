// SPDX-License-Identifier: Apache-2.0
// The kernel of the tensor core rungs: tiles of C by warpgroups, fed by the copy engine.
//
// One warpgroup copies, the others multiply; between them a ring of stages in shared memory. Blocks stay and
// take tile after tile, so the next tile's stages arrive while the last one's results are written. The blocks
// of a cluster copy each other what they share of A or B.
#pragma once
#include "tensor_splits.cuh"
#include "tensor_waiting.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

// What this block copies for a unit of work that is a tile: from which row of A and column of B on, which
// stages.
template <class C>
struct Share {
  int row, col, first, count;

  __device__ __forceinline__ Share(const TensorArgs& args, std::int32_t unit, std::uint32_t rank,
                                   const Sharing<C>& sharing) {
    const TileOrder::Tile tile = args.order.at(unit);
    const int part = part_of<C>(tile, rank);
    row = (tile.row * C::cluster_rows + static_cast<int>(sharing.row)) * C::rows;
    col = (tile.col * C::cluster_cols + static_cast<int>(sharing.col)) * C::cols;
    first = first_stage(args, part);
    count = stages_of(args, part);
  }
  __device__ __forceinline__ void copy(const TensorArgs& args, const TileShared<C>& shared,
                                       const Sharing<C>& sharing, int i, int stage) const {
    copy_stage<C>(args, shared, stage, row, col, (first + i) * (128 / C::element_bytes), sharing);
  }
  // Stages of a block's first tile that are asked for before the block has met: more of them keep the others
  // waiting.
  __device__ __forceinline__ int ahead() const { return count < most_ahead ? count : most_ahead; }
  static constexpr int most_ahead = 4;
  static_assert(most_ahead <= C::stages);
};

// By who made the barriers: no other block writes to this one's memory, and who reads it will have seen them.
template <class C>
__device__ __forceinline__ void begin_copies(const TensorArgs& args, const TileShared<C>& shared,
                                             std::uint32_t rank) {
  static_assert(C::cluster == 1);
  const Sharing<C> sharing(C::joined ? 0 : rank);
  const std::int32_t unit = first_unit(cluster_blocks<C>(args));
  if (unit >= args.units || unit >= args.tiles) return;
  const Share<C> share(args, unit, rank, sharing);
  for (int i = 0; i < share.ahead(); ++i) share.copy(args, shared, sharing, i, i);
}

template <class C>
__device__ void produce(const TensorArgs& args, const TileShared<C>& shared, std::uint32_t rank) {
  const Sharing<C> sharing(C::joined ? 0 : rank);
  Ring<C::stages> ring;
  const int blocks = cluster_blocks<C>(args);
  for (std::int32_t unit = first_unit(blocks); unit < args.units; unit += unit_step(blocks)) {
    if constexpr (C::strips) {
      if (unit >= args.tiles) {
        each_piece<C>(args, unit, rank, [&](int row, int col) {
          for (int i = 0; i < args.depth; ++i) {
            ptx::wait(shared.empty(ring.stage), ring.parity ^ 1);
            copy_piece_stage<C>(args, shared, ring.stage, row, col, i * (128 / C::element_bytes));
            ring.advance();
          }
        });
        continue;
      }
    }
    const Share<C> share(args, unit, rank, sharing);
    const bool begun = C::cluster == 1 && unit == first_unit(blocks);
    if (begun) ring.skip(share.ahead());
    for (int i = begun ? share.ahead() : 0; i < share.count; ++i) {
      ptx::wait(shared.empty(ring.stage), ring.parity ^ 1);
      share.copy(args, shared, sharing, i, ring.stage);
      ring.advance();
    }
  }
}

template <class C>
__device__ void consume(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                        std::uint32_t rank) {
  if constexpr (can_wait<C>)
    if (args.waits && PlainFactor(args.epilogue).serves) {
      if (args.depth < least_waiting_depth<1>) consume_waiting<C, 2>(args, shared, consumer, rank);
      else consume_waiting<C, 1>(args, shared, consumer, rank);
      return;
    }
  const Sharing<C> sharing(C::joined ? 0 : rank);
  const std::uint32_t givers = sharing.of_a() | sharing.of_b();  // who copies to this block
  const int first_row = C::in_turn ? 0 : consumer * C::row_blocks * 64;
  Ring<C::stages> ring;
  Turns<C> turns{shared, consumer};
  int turn = 0;
  const int blocks = cluster_blocks<C>(args);
  for (std::int32_t unit = first_unit(blocks); unit < args.units; unit += unit_step(blocks)) {
    if constexpr (C::strips) {
      if (unit >= args.tiles) {
        each_piece<C>(args, unit, rank, [&](int row, int col) {
          typename C::Sum sum[C::row_blocks][StripOrder::cols / 2];
          sum_up<C, StripOrder::cols>(shared, ring, args.depth, first_row, givers, turns, sum);
          store_tile<C, StripOrder::cols / 2>(args, shared, consumer, sum, row + first_row, col);
        });
        continue;
      }
    }
    const int count = stages_of(args, part_of<C>(args.order.at(unit), rank));
    if constexpr (C::in_turn) {
      if (turn++ % C::consumers != consumer) {
        ring.skip(count);
        continue;
      }
    }
    turns.take();
    typename C::Sum sum[C::row_blocks][C::sums];
    sum_up<C, C::cols>(shared, ring, count, first_row, givers, turns, sum);
    // Computed afresh: the products leave no register for what is needed only now.
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    const int row = (tile.row * C::cluster_rows + static_cast<int>(sharing.row)) * C::rows + first_row,
              col = (tile.col * C::cluster_cols + static_cast<int>(sharing.col)) * C::cols;
    if constexpr (C::joined) {
      if (args.together == 1) store_tile<C, C::sums>(args, shared, consumer, sum, row, col);
      else join_parts<C>(args, shared, rank, consumer, sum, row - first_row, col);
      continue;
    }
    if (args.order.splits > 1) join_splits<C>(args, shared, tile, rank, consumer, sum, row, col);
    else store_tile<C, C::sums>(args, shared, consumer, sum, row, col);
  }
  if (args.boxed && threadIdx.x % 32 == 0) ptx::wait_until_read<0>();
}

struct NothingAhead {};

// A block's life. `meets`: whether the blocks of a cluster share the sums of their one tile. `begin` is
// called by one thread, before anything that the kernel before wrote may be read; `copies(shared, rank)` by
// one, `multiplies(shared, consumer, rank)` by warpgroups. `beside`: the kernel before, which began when all
// that is read had been written, may still be at work. `ahead(shared, rank)`: copies that who made the
// barriers begins before the block has met.
template <class C, class Begin, class Copies, class Multiplies, class First = NothingAhead>
__device__ __forceinline__ void work_in_roles(unsigned char* raw, const Begin& begin, const Copies& copies,
                                              const Multiplies& multiplies, bool meets = false,
                                              bool beside = false, const First& ahead = {}) {
  const TileShared<C> shared(raw);
  const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  const std::uint32_t rank = C::cluster == 1 && !C::joined ? 0 : ptx::rank_in_cluster();
  if (threadIdx.x == 0) {
    begin();
    for (int stage = 0; stage < C::stages; ++stage) {
      ptx::init(shared.full(stage), 1);
      ptx::init(shared.empty(stage), C::sharers * (C::cluster_rows + C::cluster_cols - 1));
    }
    if constexpr (C::in_turn)
      for (int consumer = 0; consumer < C::consumers; ++consumer) ptx::init(shared.turn(consumer), 1);
    ptx::fence_init();
    if constexpr (C::cluster == 1 && !std::is_same_v<First, NothingAhead>) {
      ptx::fence_shared();
      if (!beside) ptx::wait_for_kernel_before();
      ahead(shared, rank);
    }
  }
  if constexpr (C::cluster == 1) __syncthreads();
  else ptx::synchronize_cluster();
  // What follows touches the arrays; all before it may happen while the kernel before is still at work.
  if (!beside) ptx::wait_for_kernel_before();
  ptx::let_next_kernel_start();
  if (group == 0) {
    ptx::keep_registers<C::consumers == 1 ? 56 : C::consumers == 2 ? 40 : 32>();
    if (threadIdx.x < 32 && ptx::elected()) copies(shared, rank);
    __syncwarp();
    if (C::joined && meets) ptx::synchronize_cluster();  // as those who multiply do it once
  } else {
    ptx::take_registers<C::consumers == 1 ? 248 : C::consumers == 2 ? 232 : 160>();
    multiplies(shared, group - 1, rank);
  }
  // A block stays while the other one of its cluster may still tell it something.
  if (C::cluster > 1 || (C::joined && meets)) ptx::synchronize_cluster();
  // Who waits for this kernel waits for the one before as well.
  if (beside) ptx::wait_for_kernel_before();
}

template <class C>
__global__ void __launch_bounds__(C::threads, 1) multiply_tiles(const __grid_constant__ TensorArgs args) {
  extern __shared__ unsigned char raw[];
  const auto ahead = [&](const TileShared<C>& shared, std::uint32_t rank) {
    if constexpr (C::cluster == 1) begin_copies<C>(args, shared, rank);
  };
  work_in_roles<C>(
      raw,
      [&] {
        if (args.depth <= 0) return;
        ptx::prefetch(args.a);
        ptx::prefetch(args.b);
        if (args.boxed) ptx::prefetch(args.c);
      },
      [&](const TileShared<C>& shared, std::uint32_t rank) { produce<C>(args, shared, rank); },
      [&](const TileShared<C>& shared, int consumer, std::uint32_t rank) {
        consume<C>(args, shared, consumer, rank);
      },
      args.together > 1, args.beside, ahead);
}

}  // namespace tessera::matmul
