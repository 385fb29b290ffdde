// SPDX-License-Identifier: Apache-2.0
// From a warpgroup's sums to C: splits that are joined, boxes that the copy engine writes.
#pragma once
#include <type_traits>
#include "tensor_rows.cuh"
#include "tessera/cuda/ptx/cluster.cuh"
#include "tessera/cuda/ptx/matrix_store.cuh"
#include "tessera/cuda/ptx/tensor_copy.cuh"

namespace tessera::matmul {

// Two results beside each other, as an output of 16 bits holds them.
__device__ __forceinline__ std::uint32_t pair_of(__nv_bfloat16, float left, float right) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}
__device__ __forceinline__ std::uint32_t pair_of(__half, float left, float right) {
  const __half2 both = __floats2half2_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}

// The factor of all sums where nothing else follows them.
struct PlainFactor {
  float real;
  bool serves;  // else only row by row is a product of it and a sum what it should be: scaled_sum()
  std::uint32_t whole;

  __device__ explicit PlainFactor(const TensorEpilogue& e) : real(e.alpha) {
    if (e.scale_a != nullptr) real *= *e.scale_a;
    serves = is_ordinary(real);
    if (e.scale_b != nullptr) real *= *e.scale_b;
    serves = (serves && is_ordinary(real)) || e.alpha == 0;
    whole = static_cast<std::uint32_t>(static_cast<std::int32_t>(e.alpha));
  }
  template <class Out, class Sum>
  __device__ __forceinline__ auto of(Sum sum) const {
    if constexpr (std::is_same_v<Out, std::int32_t>) return whole * static_cast<std::uint32_t>(sum);
    else return real * static_cast<float>(sum);
  }
};

// Part `part` of a consumer's 64 rows of sums, as a box has it: 16-byte pieces, moved within 8 rows of a box
// as the copy engine has them.
template <class Out, class Sum, int sums>
__device__ __forceinline__ void fill_box(unsigned char* box, const PlainFactor& factor,
                                         const Sum (&sum)[sums], int part) {
  const int me = fresh_thread() % 128, warp = me / 32, lane = me % 32;
  if constexpr (sizeof(Out) == 2) {
    const int r = warp * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      std::uint32_t piece[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (part * 8 + j) + 2 * i;
        piece[i] = pair_of(Out{}, factor.of<Out>(sum[at]), factor.of<Out>(sum[at + 1]));
      }
      ptx::store_pieces(box + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, piece[0], piece[1], piece[2],
                        piece[3]);
    }
  } else {
    struct alignas(8) Pair {
      Out left, right;
    };
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const int r = warp * 16 + lane / 4 + 8 * (i / 2 % 2), piece = 2 * (i / 4) + lane % 4 / 2,
                at = 16 * part + i;
      *reinterpret_cast<Pair*>(box + r * 128 + (piece ^ (r % 8)) * 16 + lane % 2 * 8) = {
          static_cast<Out>(factor.of<Out>(sum[at])), static_cast<Out>(factor.of<Out>(sum[at + 1]))};
    }
  }
}

// What a warp has put into its 16 rows of a box, to rows of C that begin anywhere: neighbouring lanes,
// neighbouring elements. `row`: of C's, of the warp's first.
template <class Out>
__device__ __forceinline__ void copy_elements(const TensorArgs& args, const unsigned char* box, int warp,
                                              int lane, int row, int col) {
  constexpr int bytes = sizeof(Out), cols = 128 / bytes;
  Out* const to = static_cast<Out*>(args.out) + row * args.out_row + col + lane;
  const int rows = min(16, static_cast<int>(args.m) - row), there = static_cast<int>(args.n) - col - lane;
#pragma unroll 4
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int i = 0; i < cols; i += 32) {
      const int at = (lane + i) * bytes;
      const unsigned char* const from = box + (warp * 16 + r) * 128 + ((at / 16) ^ (r % 8)) * 16 + at % 16;
      if (i < there) to[r * args.out_row + i] = *reinterpret_cast<const Out*>(from);
    }
}

// Each warp by way of its own rows of two boxes in turn: one is filled while the other is still being read by
// the copy engine, and nobody waits for another warp. `layer`: of a map of layers, of C that the engine
// stores.
template <class C, class Out, int sums, class... Layer>
__device__ __forceinline__ void store_boxes(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                            const typename C::Sum (&sum)[C::row_blocks][sums], int row,
                                            int col, Layer... layer) {
  const bool boxed = sizeof...(Layer) > 0 || args.boxed;
  constexpr int cols = 128 / static_cast<int>(sizeof(Out)), parts = 2 * sums / cols,
                all = C::row_blocks * parts;
  const PlainFactor factor(args.epilogue);
  const int me = fresh_thread() % 128, warp = me / 32, lane = me % 32;
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) {
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      unsigned char* const box = shared.out(consumer) + (block * parts + part) % 2 * C::box_bytes;
      const int first_row = row + block * 64 + warp * 16, first_col = col + part * cols;
      if (boxed && lane == 0) ptx::wait_until_read<all == 1 ? 0 : 1>();
      __syncwarp();
      fill_box<Out>(box, factor, sum[block], part);
      if (boxed) {
        ptx::fence_shared();
        __syncwarp();
        if (lane != 0) continue;
        ptx::store_box(args.c, box + warp * 16 * 128, first_col, first_row, layer...);
        ptx::commit_stores();
      } else {
        __syncwarp();
        copy_elements<Out>(args, box, warp, lane, first_row, first_col);
      }
    }
  }
}

// Where no more than a factor follows the sums.
template <class C, int sums, class... Layer>
__device__ __forceinline__ void store_plain(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                            const typename C::Sum (&sum)[C::row_blocks][sums], int row,
                                            int col, Layer... layer) {
  if constexpr (!std::is_same_v<typename C::Sum, float>) {
    if (args.out_element == Element::i32)
      return store_boxes<C, std::int32_t, sums>(args, shared, consumer, sum, row, col, layer...);
  } else if constexpr (C::Kind::bytes <= 2) {
    if (args.out_element == Element::bf16)
      return store_boxes<C, __nv_bfloat16, sums>(args, shared, consumer, sum, row, col, layer...);
    if (args.out_element == Element::f16)
      return store_boxes<C, __half, sums>(args, shared, consumer, sum, row, col, layer...);
  }
  store_boxes<C, float, sums>(args, shared, consumer, sum, row, col, layer...);
}

// row, col: of this consumer's first sum.
template <class C, int sums>
__device__ __forceinline__ void store_tile(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                           const typename C::Sum (&sum)[C::row_blocks][sums], int row,
                                           int col) {
  if (args.plain && PlainFactor(args.epilogue).serves)
    store_plain<C, sums>(args, shared, consumer, sum, row, col);
  else store_rows<C, sums>(args, shared, consumer, sum, row, col);
}

}  // namespace tessera::matmul
