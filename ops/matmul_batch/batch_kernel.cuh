// SPDX-License-Identifier: Apache-2.0
// The wgmma kernel for a batch: the single product's pipeline of stages, order of summation and stores to C,
// but each unit of work belongs to an entry, which has its own operands.
#pragma once
#include "batch_plan.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_kernel.cuh"

namespace tessera::matmul_batch {

namespace ptx = cuda::ptx;
using matmul::BlockCoordInCluster;
using matmul::PipelineState;
using matmul::TileShared;
using matmul::WgmmaArgs;

// The arguments for one entry of a group, in device memory.
struct GroupEntry {
  WgmmaArgs args;
  std::int32_t first_unit;
};

// Strides between entries of one size, in bytes.
struct EntrySteps {
  std::int64_t c = 0, c0 = 0, bias = 0, scale_a = 0, scale_b = 0;
};

// Entries of one size are layers of the tensor maps in `one`. A group has `table`, its entries, and entry_of,
// the index in `table` for each unit.
struct BatchArgs {
  WgmmaArgs one;
  EqualEntries entries;
  bool a_is_batched, b_is_batched;  // false: one matrix serves all entries
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

// Executed by one thread for A, and by another for B: loads the operand for all units of work.
template <class Traits, bool is_b>
__device__ __forceinline__ void produce(const BatchArgs& batch, const TileShared<Traits>& shared,
                                        std::uint32_t rank) {
  const BlockCoordInCluster<Traits> block_coord(Traits::cluster_split_k ? 0 : rank);
  PipelineState<Traits> state(shared);
  constexpr int block_k = 128 / Traits::element_bytes;
  const bool group = batch.table != nullptr;
  for (std::int32_t unit = matmul::first_unit(Traits::cluster_size); unit < batch.units;
       unit += matmul::work_unit_stride(Traits::cluster_size)) {
    const Work work = work_at(batch, unit);
    const WgmmaArgs& args = work.args;
    const int row = (work.tile.row * Traits::cluster_rows + static_cast<int>(block_coord.row)) * Traits::rows,
              col = (work.tile.col * Traits::cluster_cols + static_cast<int>(block_coord.col)) * Traits::cols;
    const int layer = (is_b ? batch.b_is_batched : batch.a_is_batched) ? work.layer : 0,
              count = args.k_tile_count;
    const CUtensorMap& map = is_b ? args.b : args.a;
    if (group && count > 0) ptx::tensormap_acquire(map);
    const matmul::OperandLoader<Traits, is_b> loader(shared, is_b ? col : row,
                                                     is_b ? Traits::b_bytes : args.a_tx_bytes, block_coord);
    for (int i = 0; i < count; ++i) {
      loader.wait_until_empty(state);
      loader.load(map, state.index, i * block_k, layer);
      state.advance();
    }
  }
}

// Writes the epilogue arguments for this entry to `own` in shared memory, because no registers are left.
__device__ __forceinline__ void set_entry_args(WgmmaArgs& own, const BatchArgs& batch, const Work& work) {
  const auto move = [&](auto*& data, std::int64_t step) {
    using Data = std::remove_reference_t<decltype(data)>;
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Data>>, const char, char>;
    if (data != nullptr) data = reinterpret_cast<Data>(reinterpret_cast<Byte*>(data) + work.layer * step);
  };
  const EntrySteps& steps = batch.steps;
  own.m = work.args.m;
  own.n = work.args.n;
  own.c_element = work.args.c_element;
  own.c_stride = work.args.c_stride;
  own.use_staged_scalar_epilogue = work.args.use_staged_scalar_epilogue;
  own.tma_store = false;
  own.c_data = work.args.c_data;
  own.epilogue = work.args.epilogue;
  matmul::EpilogueArgs& e = own.epilogue;
  move(own.c_data, steps.c);
  move(e.c0, steps.c0);
  move(e.bias, steps.bias);
  move(e.scale_a, steps.scale_a);
  move(e.scale_b, steps.scale_b);
}

template <class Traits>
__device__ __forceinline__ void consume(const BatchArgs& batch, const TileShared<Traits>& shared,
                                        int consumer, std::uint32_t rank) {
  const BlockCoordInCluster<Traits> block_coord(Traits::cluster_split_k ? 0 : rank);
  const std::uint32_t peers = block_coord.multicast_mask_a() | block_coord.multicast_mask_b();
  const int first_row = consumer * Traits::m_tiles * 64;
  static_assert(Traits::shared_bytes + Traits::consumer_warpgroups * sizeof(WgmmaArgs) <= 227 * 1024);
  alignas(WgmmaArgs) __shared__ unsigned char entry_args[Traits::consumer_warpgroups][sizeof(WgmmaArgs)];
  WgmmaArgs& own = *reinterpret_cast<WgmmaArgs*>(entry_args[consumer]);
  PipelineState<Traits> state(shared);
  for (std::int32_t unit = matmul::first_unit(Traits::cluster_size); unit < batch.units;
       unit += matmul::work_unit_stride(Traits::cluster_size)) {
    const int count = work_at(batch, unit).args.k_tile_count;
    typename Traits::Accumulator accum[Traits::m_tiles][Traits::accumulators];
    matmul::accumulate_tile<Traits, Traits::cols>(shared, state, count, first_row, peers, accum);
    // Recomputed, because the mainloop leaves no registers to keep it.
    const Work work = work_at(batch, ptx::opaque(unit));
    const int row =
                  (work.tile.row * Traits::cluster_rows + static_cast<int>(block_coord.row)) * Traits::rows +
                  first_row,
              col = (work.tile.col * Traits::cluster_cols + static_cast<int>(block_coord.col)) * Traits::cols;
    if (work.args.tma_store && matmul::EpilogueScale(work.args.epilogue).scale_is_normal) {
      if (batch.table != nullptr && threadIdx.x % 32 == 0) ptx::tensormap_acquire(work.args.c);
      matmul::store_scalar_only<Traits, Traits::accumulators>(work.args, shared, consumer, accum, row, col,
                                                              work.layer);
    } else {
      // The TMA may still read the previous unit's staging buffers, which overlap that of the accumulators.
      if (threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
      if (threadIdx.x % 128 == 0) set_entry_args(own, batch, work);
      ptx::named_barrier_sync(1 + consumer, 128);
      matmul::store_tile<Traits, Traits::accumulators>(own, shared, consumer, accum, row, col);
      ptx::named_barrier_sync(1 + consumer, 128);
    }
  }
  if (threadIdx.x % 32 == 0) ptx::tma_store_wait_group_read<0>();
}

template <class Traits>
__global__ void __launch_bounds__(Traits::threads, 1)
    multiply_entries(const __grid_constant__ BatchArgs batch) {
  extern __shared__ unsigned char raw[];
  matmul::warp_specialized_main<Traits>(
      raw, [] {},
      [&]<bool is_b>(const TileShared<Traits>& shared, std::uint32_t rank) {
        produce<Traits, is_b>(batch, shared, rank);
      },
      [&](const TileShared<Traits>& shared, int consumer, std::uint32_t rank) {
        consume<Traits>(batch, shared, consumer, rank);
      });
}

}  // namespace tessera::matmul_batch
