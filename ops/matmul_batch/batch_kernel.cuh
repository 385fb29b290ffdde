// SPDX-License-Identifier: Apache-2.0
// The single product's wgmma kernel with units of work that belong to entries of a batch: the same ring
// of stages, the same sums in the same order, the same ways to C. What an entry brings of its own is where
// its operands lie.
#pragma once
#include "batch_plan.hpp"
#include "ops/matmul/kernels/hopper/wgmma_kernel.cuh"

namespace tessera::matmul_batch {

namespace ptx = cuda::ptx;
using matmul::ClusterCoord;
using matmul::Ring;
using matmul::TileShared;
using matmul::WgmmaArgs;

// Of a group's entry, in device memory.
struct GroupEntry {
  WgmmaArgs args;
  std::int32_t first_unit;
};

// From an entry to the next, in bytes; where all are alike.
struct EntrySteps {
  std::int64_t out = 0, c0 = 0, bias = 0, scale_a = 0, scale_b = 0;
};

// Entries of one size are layers of the maps in `one`. A group has a table of entries, and for each unit the
// number of its entry there.
struct BatchArgs {
  WgmmaArgs one;
  EqualEntries entries;
  bool a_is_batched, b_is_batched;  // or serve all entries
  EntrySteps steps;
  const GroupEntry* table = nullptr;
  const std::int32_t* entry_of = nullptr;
  std::int32_t units = 0;
};

struct Work {
  const WgmmaArgs& args;
  int layer;
  matmul::TileOrder::Tile tile;
};

__device__ __forceinline__ Work work_at(const BatchArgs& batch, std::int32_t unit) {
  if (batch.table == nullptr) {
    const EqualEntries::Unit at = batch.entries.at(unit);
    return {batch.one, at.entry, batch.one.order.at(at.within)};
  }
  const GroupEntry& entry = batch.table[__ldg(batch.entry_of + unit)];
  return {entry.args, 0, entry.args.order.at(unit - entry.first_unit)};
}

template <class C>
__device__ __forceinline__ void produce(const BatchArgs& batch, const TileShared<C>& shared,
                                        std::uint32_t rank) {
  const ClusterCoord<C> block_coord(C::cluster_split_k ? 0 : rank);
  Ring<C> ring(shared);
  constexpr int k_of_stage = 128 / C::element_bytes;
  const bool group = batch.table != nullptr;
  for (std::int32_t unit = matmul::first_unit(C::cluster); unit < batch.units;
       unit += matmul::unit_step(C::cluster)) {
    const Work work = work_at(batch, unit);
    const WgmmaArgs& args = work.args;
    const int row = (work.tile.row * C::cluster_rows + static_cast<int>(block_coord.row)) * C::rows,
              col = (work.tile.col * C::cluster_cols + static_cast<int>(block_coord.col)) * C::cols;
    const int layer_a = batch.a_is_batched ? work.layer : 0, layer_b = batch.b_is_batched ? work.layer : 0,
              count = args.depth;
    const std::uint32_t bytes = static_cast<std::uint32_t>(args.a_bytes + C::b_bytes);
    if (group && count > 0) {
      ptx::tensormap_acquire(args.a);
      ptx::tensormap_acquire(args.b);
    }
    for (int i = 0; i < count; ++i) {
      ptx::mbarrier_wait(shared.empty(ring.stage), ring.parity ^ 1);
      ptx::Mbarrier& full = shared.full(ring.stage);
      ptx::mbarrier_arrive_expect_tx(full, bytes);
      matmul::load_operand<C, C::mn_major_a, C::rows, C::cluster_cols>(
          shared.a(ring.stage), args.a, row, i * k_of_stage, static_cast<int>(block_coord.col),
          block_coord.multicast_a(), full, layer_a);
      matmul::load_operand<C, C::mn_major_b, C::cols, C::cluster_rows>(
          shared.b(ring.stage), args.b, col, i * k_of_stage, static_cast<int>(block_coord.row),
          block_coord.multicast_b(), full, layer_b);
      ring.advance();
    }
  }
}

// Writes this entry's epilogue arguments to shared memory: no registers are left for them.
__device__ __forceinline__ void set_entry_args(WgmmaArgs& own, const BatchArgs& batch, const Work& work) {
  const auto move = [&](auto*& data, std::int64_t step) {
    using Data = std::remove_reference_t<decltype(data)>;
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Data>>, const char, char>;
    if (data != nullptr) data = reinterpret_cast<Data>(reinterpret_cast<Byte*>(data) + work.layer * step);
  };
  const EntrySteps& steps = batch.steps;
  own.m = work.args.m;
  own.n = work.args.n;
  own.out_element = work.args.out_element;
  own.out_row = work.args.out_row;
  own.plain = work.args.plain;
  own.tma_store = false;
  own.out = work.args.out;
  own.epilogue = work.args.epilogue;
  matmul::EpilogueArgs& e = own.epilogue;
  move(own.out, steps.out);
  move(e.c0, steps.c0);
  move(e.bias, steps.bias);
  move(e.scale_a, steps.scale_a);
  move(e.scale_b, steps.scale_b);
}

template <class C>
__device__ __forceinline__ void consume(const BatchArgs& batch, const TileShared<C>& shared, int consumer,
                                        std::uint32_t rank) {
  const ClusterCoord<C> block_coord(C::cluster_split_k ? 0 : rank);
  const std::uint32_t peers = block_coord.multicast_a() | block_coord.multicast_b();
  const int first_row = consumer * C::row_blocks * 64;
  static_assert(C::shared_bytes + C::consumers * sizeof(WgmmaArgs) <= 227 * 1024);
  alignas(WgmmaArgs) __shared__ unsigned char entry_args[C::consumers][sizeof(WgmmaArgs)];
  WgmmaArgs& own = *reinterpret_cast<WgmmaArgs*>(entry_args[consumer]);
  Ring<C> ring(shared);
  for (std::int32_t unit = matmul::first_unit(C::cluster); unit < batch.units;
       unit += matmul::unit_step(C::cluster)) {
    const int count = work_at(batch, unit).args.depth;
    typename C::Sum sum[C::row_blocks][C::sums];
    matmul::accumulate_tile<C, C::cols>(shared, ring, count, first_row, peers, sum);
    // Computed afresh: the products leave no register for what is needed only now.
    const Work work = work_at(batch, ptx::opaque(unit));
    const int row =
                  (work.tile.row * C::cluster_rows + static_cast<int>(block_coord.row)) * C::rows + first_row,
              col = (work.tile.col * C::cluster_cols + static_cast<int>(block_coord.col)) * C::cols;
    if (work.args.tma_store && matmul::EpilogueScale(work.args.epilogue).scale_is_normal) {
      if (batch.table != nullptr && threadIdx.x % 32 == 0) ptx::tensormap_acquire(work.args.c);
      matmul::store_plain<C, C::sums>(work.args, shared, consumer, sum, row, col, work.layer);
    } else {
      // Boxes of the unit before may still be read from where sums are staged.
      if (threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
      if (threadIdx.x % 128 == 0) set_entry_args(own, batch, work);
      ptx::named_barrier_sync(1 + consumer, 128);
      matmul::store_tile<C, C::sums>(own, shared, consumer, sum, row, col);
      ptx::named_barrier_sync(1 + consumer, 128);
    }
  }
  if (threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

template <class C>
__global__ void __launch_bounds__(C::threads, 1) multiply_entries(const __grid_constant__ BatchArgs batch) {
  extern __shared__ unsigned char raw[];
  matmul::warp_specialized_main<C>(
      raw, [] {}, [&](const TileShared<C>& shared, std::uint32_t rank) { produce<C>(batch, shared, rank); },
      [&](const TileShared<C>& shared, int consumer, std::uint32_t rank) {
        consume<C>(batch, shared, consumer, rank);
      });
}

}  // namespace tessera::matmul_batch
