// SPDX-License-Identifier: Apache-2.0
// From a warpgroup's sums to C where more than a factor follows them, or where the copy engine cannot store
// C: through shared memory, so that neighbouring lanes meet neighbouring elements of a row.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "epilogue.hpp"
#include "tensor_config.cuh"

namespace tessera::matmul {

__device__ __forceinline__ float real_at(Element element, const void* data, std::int64_t offset) {
  switch (element) {
    case Element::bf16:
      return static_cast<float>(static_cast<const __nv_bfloat16*>(data)[offset]);
    case Element::f16:
      return static_cast<float>(static_cast<const __half*>(data)[offset]);
    case Element::i8:
      return static_cast<float>(static_cast<const signed char*>(data)[offset]);
    default:
      return static_cast<const float*>(data)[offset];
  }
}

__device__ __forceinline__ void store_real(Element element, void* data, std::int64_t offset, float value) {
  switch (element) {
    case Element::bf16:
      static_cast<__nv_bfloat16*>(data)[offset] = __float2bfloat16_rn(value);
      return;
    case Element::f16:
      static_cast<__half*>(data)[offset] = __float2half_rn(value);
      return;
    case Element::i8:
      // To the nearest, within the range; NaN gives 0.
      static_cast<signed char*>(data)[offset] =
          static_cast<signed char>(max(-128, min(127, __float2int_rn(value))));
      return;
    default:
      static_cast<float*>(data)[offset] = value;
  }
}

// Whole numbers, modulo 2^32.
__device__ __forceinline__ void store_whole(const TensorArgs& args, std::int32_t sum, std::int64_t y,
                                            std::int64_t x) {
  const TensorEpilogue& e = args.epilogue;
  auto value =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(e.alpha)) * static_cast<std::uint32_t>(sum);
  if (e.beta != 0)
    value += static_cast<std::uint32_t>(static_cast<std::int32_t>(e.beta)) *
             static_cast<const std::uint32_t*>(e.c0)[y * e.c0_row + x * e.c0_col];
  if (e.bias != nullptr) value += static_cast<const std::uint32_t*>(e.bias)[y * e.bias_row + x * e.bias_col];
  auto whole = static_cast<std::int32_t>(value);
  if (e.activation == Activation::relu) whole = max(whole, 0);
  static_cast<std::int32_t*>(args.out)[y * args.out_row + x] = whole;
}

// 16 rows of 64 sums that a warp has staged, each pair of 16-byte pieces of a row moved by its row's number:
// neither those who stage nor those who walk then meet on a bank.
struct StagedSums {
  static constexpr int rows = 16, cols = 64;
  static __device__ __forceinline__ int at(int row, int col) {
    return row * cols + (((col / 4) ^ (row % 4 * 2)) * 4 | col % 4);
  }
};

template <class Sum>
__device__ __forceinline__ void walk_rows(const TensorArgs& args, const Sum* staged, int row, int col) {
  constexpr int pieces = 2, together = 2;  // of 32 columns; rows whose reads are under way at once
  const TensorEpilogue& e = args.epilogue;
  const int lane = fresh_thread() % 32;
  const bool whole = args.out_element == Element::i32, bias_of_column = e.bias != nullptr && e.bias_row == 0;
  float scale_b[pieces], bias[pieces];
#pragma unroll
  for (int i = 0; i < pieces; ++i) {
    const std::int64_t x = col + lane + 32 * i;
    const bool there = x < args.n;
    scale_b[i] = there && e.scale_b != nullptr ? e.scale_b[x * e.scale_b_step] : 1.0f;
    bias[i] = there && bias_of_column && !whole ? real_at(e.bias_element, e.bias, x * e.bias_col) : 0.0f;
  }
#pragma unroll 1
  for (int r = 0; r < StagedSums::rows; r += together) {
    float old[together][pieces];
#pragma unroll
    for (int j = 0; j < together; ++j)
#pragma unroll
      for (int i = 0; i < pieces; ++i) {
        const std::int64_t y = row + r + j, x = col + lane + 32 * i;
        old[j][i] = e.beta != 0 && !whole && y < args.m && x < args.n
                        ? real_at(args.out_element, e.c0, y * e.c0_row + x * e.c0_col)
                        : 0.0f;
      }
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const std::int64_t y = row + r + j;
      if (y >= args.m) return;
      const float scale_a = e.scale_a != nullptr ? e.scale_a[y * e.scale_a_step] : 1.0f;
#pragma unroll
      for (int i = 0; i < pieces; ++i) {
        const std::int64_t x = col + lane + 32 * i;
        if (x >= args.n) continue;
        const Sum sum = staged[StagedSums::at(r + j, lane + 32 * i)];
        if (whole) {
          store_whole(args, static_cast<std::int32_t>(sum), y, x);
          continue;
        }
        float value = scaled_sum(e.alpha, scale_a, scale_b[i], static_cast<float>(sum));
        if (e.beta != 0) value += e.beta * old[j][i];
        if (bias_of_column) value += bias[i];
        else if (e.bias != nullptr) value += real_at(e.bias_element, e.bias, y * e.bias_row + x * e.bias_col);
        store_real(args.out_element, args.out, y * args.out_row + x, activated(e.activation, value));
      }
    }
  }
}

// A consumer's sums, 16 rows and 64 columns of each warp at a time. The loop stays one: its body is long.
template <class C, int sums>
__device__ __forceinline__ void store_rows(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                           const typename C::Sum (&sum)[C::row_blocks][sums], int row,
                                           int col) {
  using Sum = typename C::Sum;
  struct alignas(8) Pair {
    Sum left, right;
  };
  const int me = fresh_thread() % 128, warp = me / 32, lane = me % 32;
  Sum* const staged =
      reinterpret_cast<Sum*>(shared.out(consumer)) + warp * StagedSums::rows * StagedSums::cols;
  constexpr int parts = 2 * sums / StagedSums::cols;
#pragma unroll 1
  for (int step = 0; step < C::row_blocks * parts; ++step) {
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block)
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        if (step != block * parts + part) continue;
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
          const int r = lane / 4 + 8 * (i / 2 % 2), c = 8 * (i / 4) + 2 * (lane % 4);
          *reinterpret_cast<Pair*>(staged + StagedSums::at(r, c)) = {sum[block][32 * part + i],
                                                                     sum[block][32 * part + i + 1]};
        }
      }
    __syncwarp();
    walk_rows(args, staged, row + step / parts * 64 + warp * 16, col + step % parts * StagedSums::cols);
    __syncwarp();
  }
}

}  // namespace tessera::matmul
