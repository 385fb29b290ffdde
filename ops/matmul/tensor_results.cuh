// SPDX-License-Identifier: Apache-2.0
// From a warpgroup's sums to C: what follows the product, splits that are joined, boxes that the copy engine writes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "tensor_config.cuh"
#include "tessera/cuda/ptx/cluster.cuh"
#include "tessera/cuda/ptx/matrix_store.cuh"
#include "tessera/cuda/ptx/tensor_copy.cuh"

namespace tessera::matmul {

// Two results beside each other, as the output holds them.
__device__ __forceinline__ std::uint32_t pair_of(__nv_bfloat16, float left, float right) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}
__device__ __forceinline__ std::uint32_t pair_of(__half, float left, float right) {
  const __half2 both = __floats2half2_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}
template <class Out>
__device__ __forceinline__ Out rounded(float value) {
  if constexpr (std::is_same_v<Out, __nv_bfloat16>) return __float2bfloat16_rn(value);
  else if constexpr (std::is_same_v<Out, __half>) return __float2half_rn(value);
  else return value;
}

// What becomes of a sum before it is rounded. `plain`: nothing but α.
template <class C, bool plain>
__device__ __forceinline__ float concluded(const TensorArgs& args, float sum, std::int64_t row, std::int64_t col) {
  const TensorEpilogue& e = args.epilogue;
  if constexpr (plain) return e.alpha * sum;
  if (row >= args.m || col >= args.n) return 0;
  float factor = e.alpha;
  if (e.scale_a != nullptr) factor *= e.scale_a[row * e.scale_a_step];
  if (e.scale_b != nullptr) factor *= e.scale_b[col * e.scale_b_step];
  float value = factor * sum;
  using Out = typename C::Out;
  if (e.beta != 0) value += e.beta * static_cast<float>(static_cast<const Out*>(e.c0)[row * e.c0_row + col * e.c0_col]);
  if (e.bias != nullptr) value += static_cast<float>(static_cast<const Out*>(e.bias)[row * e.bias_row + col * e.bias_col]);
  return e.relu && value < 0 ? 0 : value;
}

// 64 rows of a consumer's results: box after box into shared memory, from where the copy engine writes them. A box is
// filled while the one before is still being read.
template <class C, bool plain>
__device__ __forceinline__ void store_boxes(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                            const float (&sum)[C::sums], std::int64_t row, std::int64_t col) {
  const int me = static_cast<int>(threadIdx.x) % 128, warp = me / 32, lane = me % 32;
  const int r = warp * 16 + lane % 16;
#pragma unroll
  for (int part = 0; part < C::cols / C::box_cols; ++part) {
    unsigned char* const box = shared.out(consumer) + part % C::boxes * C::box_bytes;
    if (me == 0) ptx::wait_until_read<C::boxes - 1>();
    ptx::synchronize(1 + consumer, 128);
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      std::uint32_t piece[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (part * 8 + j) + 2 * i;
        const std::int64_t y = row + warp * 16 + lane / 4 + 8 * (i % 2),
                           x = col + part * C::box_cols + 8 * (j + i / 2) + 2 * (lane % 4);
        piece[i] = pair_of(typename C::Out{}, concluded<C, plain>(args, sum[at], y, x),
                           concluded<C, plain>(args, sum[at + 1], y, x + 1));
      }
      ptx::store_pieces(box + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, piece[0], piece[1], piece[2], piece[3]);
    }
    ptx::fence_shared();
    ptx::synchronize(1 + consumer, 128);
    if (me == 0) {
      ptx::store_box(args.c, box, static_cast<int>(col) + part * C::box_cols, static_cast<int>(row));
      ptx::commit_stores();
    }
  }
}

// Likewise, straight from registers: where the copy engine cannot store, and for wide results.
template <class C, bool plain>
__device__ __forceinline__ void store_sums(const TensorArgs& args, const float (&sum)[C::sums], std::int64_t row,
                                           std::int64_t col) {
  const int me = static_cast<int>(threadIdx.x) % 128, warp = me / 32, lane = me % 32;
  const std::int64_t x0 = col + 2 * (lane % 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t y = row + warp * 16 + lane / 4 + 8 * half;
    if (y >= args.m) continue;
    typename C::Out* const to = static_cast<typename C::Out*>(args.out) + y * args.out_row + x0;
#pragma unroll
    for (int i = 2 * half; i < C::sums; i += 4) {
      const int off = 8 * (i / 4);
      if (x0 + off < args.n) to[off] = rounded<typename C::Out>(concluded<C, plain>(args, sum[i], y, x0 + off));
      if (x0 + off + 1 < args.n)
        to[off + 1] = rounded<typename C::Out>(concluded<C, plain>(args, sum[i + 1], y, x0 + off + 1));
    }
  }
}

template <class C, bool plain>
__device__ __forceinline__ void store_tile(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                           const float (&sum)[C::row_blocks][C::sums], std::int64_t row,
                                           std::int64_t col) {
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) {
    const std::int64_t first = row + (consumer * C::row_blocks + block) * 64;
    if constexpr (C::boxes > 0) {
      if (args.boxed) {
        store_boxes<C, plain>(args, shared, consumer, sum[block], first, col);
        continue;
      }
    }
    store_sums<C, plain>(args, sum[block], first, col);
  }
}

// Adds the sums of all splits of a tile, in their order, if this is the last to come; whether it is.
template <class C>
__device__ bool join_splits(const TensorArgs& args, TileOrder::Tile tile, std::uint32_t rank, int consumer,
                            float (&sum)[C::row_blocks][C::sums]) {
  const int splits = args.order.splits, me = static_cast<int>(threadIdx.x) - 128;
  constexpr int workers = C::consumers * 128, each = C::row_blocks * C::sums;
  const std::int64_t place = (std::int64_t{tile.row} * args.order.cols + tile.col) * C::cluster + rank;
  float* const mine = args.partial + (place * splits + tile.split) * each * workers + me;
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block)
#pragma unroll
    for (int i = 0; i < C::sums; ++i) __stcg(mine + (block * C::sums + i) * workers, sum[block][i]);
  __threadfence();
  ptx::synchronize(1 + C::consumers, workers);
  __shared__ int last;
  if (me == 0) {
    last = atomicInc(args.arrived + place, static_cast<unsigned>(splits) - 1) == static_cast<unsigned>(splits) - 1;
    __threadfence();
  }
  ptx::synchronize(1 + C::consumers, workers);
  const bool mine_is_last = last != 0;
  if (mine_is_last) {
    const float* const all = args.partial + place * splits * each * workers + me;
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block)
#pragma unroll
      for (int i = 0; i < C::sums; ++i) sum[block][i] = __ldcg(all + (block * C::sums + i) * workers);
    for (int split = 1; split < splits; ++split)
#pragma unroll
      for (int block = 0; block < C::row_blocks; ++block)
#pragma unroll
        for (int i = 0; i < C::sums; ++i)
          sum[block][i] += __ldcg(all + (std::int64_t{split} * each + block * C::sums + i) * workers);
  }
  ptx::synchronize(1 + C::consumers, workers);  // `last` has been read
  return mine_is_last;
}

}  // namespace tessera::matmul
