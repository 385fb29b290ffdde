// SPDX-License-Identifier: Apache-2.0
// Split-K of the wgmma kernels: partial sums of several units of work are added in their order, in memory by
// whoever comes last (reduce_splits) or within a cluster (reduce_cluster_splits).
#pragma once
#include "ops/matmul/kernels/hopper/wgmma_epilogue.cuh"

namespace tessera::matmul {

// Where the parts of a tile's sums meet in spare memory.
template <class C>
class SplitKReduction {
 public:
  using Sum = typename C::Sum;
  static constexpr int each = C::row_blocks * C::sums;  // of a thread

  __device__ SplitKReduction(const WgmmaArgs& args, TileOrder::Tile tile, std::uint32_t rank, int consumer)
      : splits_(args.order.splits),
        group_(C::ping_pong ? consumer : 0),
        me_(fresh_thread() - 128 - group_ * 128),
        place_((tile.row * args.order.cols + tile.col) * C::cluster + static_cast<int>(rank)),
        arrived_(args.arrived),
        all_(static_cast<Sum*>(args.partial) + std::int64_t{place_} * splits_ * each * C::workers + me_) {}

  __device__ __forceinline__ void store_partial(int split, const Sum (&sum)[C::row_blocks][C::sums]) const {
    Sum* const mine = all_ + split * each * C::workers;
#pragma unroll
    for (int i = 0; i < each; ++i) __stcg(mine + i * C::workers, sum[i / C::sums][i % C::sums]);
    __threadfence();
    synchronize();
  }

  // Whether this is the last part to come.
  __device__ __forceinline__ bool is_last() const {
    __shared__ int last[C::consumers];
    const auto others = static_cast<unsigned>(splits_) - 1;
    if (me_ == 0) {
      last[group_] = atomicInc(arrived_ + place_, others) == others;
      __threadfence();
    }
    synchronize();
    const bool out = last[group_] != 0;
    synchronize();  // `last` has been read
    return out;
  }

  // Until all parts have come. Only where all who bring them are at work.
  __device__ __forceinline__ void wait_for_all() const {
    if (me_ == 0) {
      std::uint32_t* const here = arrived_ + place_;
      atomicAdd(here, 1u);
      while (ptx::load_acquire(here) < static_cast<std::uint32_t>(splits_)) {
      }
      __threadfence();
    }
    synchronize();
  }

  // Who has seen that all have come, as the last, makes both counters 0 again.
  __device__ __forceinline__ void depart() const {
    if (me_ != 0) return;
    const auto others = static_cast<unsigned>(splits_) - 1;
    if (atomicInc(arrived_ + most_split_tiles - 1 - place_, others) == others)
      atomicExch(arrived_ + place_, 0u);
  }

  // The sums of one of the slices of a tile's columns. A part is under way while the one before is added.
  template <int sums>
  __device__ __forceinline__ void add(int slice, Sum (&sum)[C::row_blocks][sums]) const {
    constexpr int count = C::row_blocks * sums;
    const Sum* const from = all_ + slice * sums * C::workers;
    Sum next[count];
    const auto load = [&](int split) {
#pragma unroll
      for (int i = 0; i < count; ++i)
        next[i] = __ldcg(from + (split * each + i / sums * C::sums + i % sums) * C::workers);
    };
    load(0);
#pragma unroll
    for (int i = 0; i < count; ++i) sum[i / sums][i % sums] = next[i];
    load(1);
#pragma unroll 1
    for (int split = 2; split <= splits_; ++split) {
      Sum part[count];
#pragma unroll
      for (int i = 0; i < count; ++i) part[i] = next[i];
      if (split < splits_) load(split);
#pragma unroll
      for (int i = 0; i < count; ++i) sum[i / sums][i % sums] += part[i];
    }
  }

 private:
  __device__ __forceinline__ void synchronize() const {
    ptx::synchronize(1 + C::consumers + group_, C::workers);
  }

  int splits_, group_, me_, place_;
  std::uint32_t* arrived_;
  Sum* all_;
};

// Leaves a part of a tile's sums; then adds and stores what of C falls to this part, 64 columns at a time:
// where all parts are at work at once, every so manieth slice; else all slices, if this is the last to come.
template <class C>
__device__ __forceinline__ void reduce_splits(const WgmmaArgs& args, const TileShared<C>& shared,
                                              TileOrder::Tile tile, std::uint32_t rank, int consumer,
                                              const typename C::Sum (&sum)[C::row_blocks][C::sums], int row,
                                              int col) {
  const SplitKReduction<C> reduction(args, tile, rank, consumer);
  reduction.store_partial(tile.split, sum);
  constexpr int slices = split_slices<C>, slice_sums = slice_cols / 2;
  int slice = 0, step = 1;
  const bool shares_work = slices > 1 && args.all_at_work;
  if (shares_work) {
    reduction.wait_for_all();
    slice = tile.split;
    step = args.order.splits;
  } else if (!reduction.is_last()) {
    return;
  }
#pragma unroll 1
  for (; slice < slices; slice += step) {
    typename C::Sum part[C::row_blocks][slice_sums];
    reduction.add(slice, part);
    store_tile<C, slice_sums>(args, shared, consumer, part, row, col + slice * slice_cols);
  }
  if (shares_work) reduction.depart();
}

// The parts of a tile's sums that the blocks of a cluster made: each leaves its own where its stages were;
// then each adds and stores 64 × 64 pieces, in the order of the parts. `row`, `col`: of the tile.
template <class C>
__device__ __forceinline__ void reduce_cluster_splits(const WgmmaArgs& args, const TileShared<C>& shared,
                                                      std::uint32_t rank, int consumer,
                                                      const typename C::Sum (&sum)[C::row_blocks][C::sums],
                                                      int row, int col) {
  using Sum = typename C::Sum;
  constexpr int sums = 32, loads = sums / 4, piece_bytes = sums * 128 * 4,
                pieces = C::consumers * C::cols / 64;
  static_assert(pieces * piece_bytes <= C::stages * C::stage_bytes);
  const int me = fresh_thread() % 128;
  ptx::synchronize(1 + C::consumers, C::workers);  // others may still multiply what lies there
#pragma unroll
  for (int i = 0; i < C::sums / 4; ++i) {
    const int piece = i / loads * C::consumers + consumer;
    struct alignas(16) Four {
      Sum of[4];
    };
    *reinterpret_cast<Four*>(shared.base + piece * piece_bytes + (i % loads * 128 + me) * 16) = {
        {sum[0][4 * i], sum[0][4 * i + 1], sum[0][4 * i + 2], sum[0][4 * i + 3]}};
  }
  ptx::synchronize_cluster();
#pragma unroll 1
  for (int piece = consumer * args.cluster_splits + static_cast<int>(rank); piece < pieces;
       piece += args.cluster_splits * C::consumers) {
    Sum all[1][sums];
    const std::uint32_t here =
        ptx::shared_address(shared.base) + static_cast<std::uint32_t>(piece * piece_bytes + me * 16);
#pragma unroll 1
    for (int part = 0; part < args.cluster_splits; ++part) {
      uint4 of[loads];
#pragma unroll
      for (int i = 0; i < loads; ++i)
        of[i] = ptx::load_from_block(here + static_cast<std::uint32_t>(i * 2048),
                                     static_cast<std::uint32_t>(part));
#pragma unroll
      for (int i = 0; i < sums; ++i) {
        const std::uint32_t bits = i % 4 == 0   ? of[i / 4].x
                                   : i % 4 == 1 ? of[i / 4].y
                                   : i % 4 == 2 ? of[i / 4].z
                                                : of[i / 4].w;
        const Sum more = reinterpret_cast<const Sum&>(bits);
        all[0][i] = part == 0 ? more : all[0][i] + more;
      }
    }
    store_tile<C, sums>(args, shared, consumer, all, row + piece % C::consumers * 64,
                        col + piece / C::consumers * 64);
  }
}

}  // namespace tessera::matmul
