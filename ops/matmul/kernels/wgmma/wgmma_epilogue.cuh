// SPDX-License-Identifier: Apache-2.0
// The epilogue of the wgmma kernels: computes C from the accumulators. store_scalar_only stages results for
// TMA stores if the epilogue only scales by one scalar; store_rows stages rows for coalesced stores
// otherwise. With split-K the partial sums are reduced first, in a fixed order, through distributed shared
// memory (reduce_cluster_splits), or in global memory by InterBlockReduction, which stores by itself.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/kernels/wgmma/wgmma_args.cuh"
#include "tessera/cuda/ptx/control.cuh"
#include "tessera/cuda/ptx/cp_async.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"
#include "tessera/cuda/ptx/tma.cuh"

namespace tessera::matmul {

__device__ __forceinline__ float load_as_float(Element element, const void* data, std::int64_t offset) {
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

__device__ __forceinline__ void store_float(Element element, void* data, std::int64_t offset, float value) {
  switch (element) {
    case Element::bf16:
      static_cast<__nv_bfloat16*>(data)[offset] = __float2bfloat16_rn(value);
      return;
    case Element::f16:
      static_cast<__half*>(data)[offset] = __float2half_rn(value);
      return;
    case Element::i8:
      // Rounds to nearest and saturates; NaN becomes 0.
      static_cast<signed char*>(data)[offset] =
          static_cast<signed char>(max(-128, min(127, __float2int_rn(value))));
      return;
    default:
      static_cast<float*>(data)[offset] = value;
  }
}

// Applies the integer epilogue, modulo 2^32.
__device__ __forceinline__ void store_int32(const WgmmaArgs& args, std::int32_t accum, std::int64_t y,
                                            std::int64_t x) {
  const EpilogueArgs& e = args.epilogue;
  auto value =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(e.alpha)) * static_cast<std::uint32_t>(accum);
  if (e.beta != 0)
    value += static_cast<std::uint32_t>(static_cast<std::int32_t>(e.beta)) *
             static_cast<const std::uint32_t*>(e.c0)[y * e.c0_row_stride + x * e.c0_col_stride];
  if (e.bias != nullptr)
    value += static_cast<const std::uint32_t*>(e.bias)[y * e.bias_row_stride + x * e.bias_col_stride];
  const std::int32_t result = apply(e.post_op, static_cast<std::int32_t>(value));
  static_cast<std::int32_t*>(args.c_data)[y * args.c_stride + x] = result;
}

// 16 rows of 64 accumulators that a warp stages. Pairs of 16-byte pieces are swizzled by the row's number, so
// that neither writing by fragments nor reading by rows has bank conflicts.
struct StagedTile {
  static constexpr int rows = 16, cols = 64;
  static __device__ __forceinline__ int at(int row, int col) {
    return row * cols + (((col / 4) ^ (row % 4 * 2)) * 4 | col % 4);
  }
};

// Step in C from one row, or column, of a tile to the next. It is 1, except along the dimension of a
// misaligned operand: a tile holds rows of a single alignment class there, so the step is the number of
// classes.
struct UnitStride {
  static constexpr int row = 1, col = 1;
};
struct MisalignedStride {
  int row, col;
};
template <class Traits>
__device__ __forceinline__ auto output_stride(const typename Traits::Args& args) {
  if constexpr (Traits::misaligned_rows) {
    const int count = args.alignment.classes();
    return args.misaligned_is_b ? MisalignedStride{1, count} : MisalignedStride{count, 1};
  } else {
    return UnitStride();
  }
}

// Returns one past the last column to store: min(n, end of the tile). Only tiles of runtime shape can end
// before their accumulator array does. `col`: the tile's first column.
template <class Traits>
__device__ __forceinline__ int end_of_tile(const typename Traits::Args& args, int col) {
  const int n = static_cast<int>(args.n);
  if constexpr (Traits::runtime_shape) return min(n, col + args.shape.cols);
  else return n;
}

// Applies the epilogue to staged rows and stores them. `end`: one past the last column to store.
template <class Accumulator, class Stride>
__device__ __forceinline__ void store_staged_rows(const WgmmaArgs& args, const Accumulator* staged, int row,
                                                  int col, int end, Stride stride) {
  constexpr int cols_per_lane = 2, unrolled = 2;  // columns lane and lane + 32; rows per iteration
  const EpilogueArgs& e = args.epilogue;
  const int lane = opaque_thread_index() % 32;
  const bool is_int32 = args.c_element == Element::i32,
             bias_of_column = e.bias != nullptr && e.bias_row_stride == 0;
  float scale_b[cols_per_lane], bias[cols_per_lane];
#pragma unroll
  for (int i = 0; i < cols_per_lane; ++i) {
    const std::int64_t x = col + (lane + 32 * i) * stride.col;
    const bool valid = x < end;
    scale_b[i] = valid && e.scale_b != nullptr ? e.scale_b[x * e.scale_b_stride] : 1.0f;
    bias[i] = valid && bias_of_column && !is_int32
                  ? load_as_float(e.bias_element, e.bias, x * e.bias_col_stride)
                  : 0.0f;
  }
#pragma unroll 1
  for (int r = 0; r < StagedTile::rows; r += unrolled) {
    float old[unrolled][cols_per_lane];
#pragma unroll
    for (int j = 0; j < unrolled; ++j)
#pragma unroll
      for (int i = 0; i < cols_per_lane; ++i) {
        const std::int64_t y = row + (r + j) * stride.row, x = col + (lane + 32 * i) * stride.col;
        old[j][i] = e.beta != 0 && !is_int32 && y < args.m && x < end
                        ? load_as_float(args.c_element, e.c0, y * e.c0_row_stride + x * e.c0_col_stride)
                        : 0.0f;
      }
#pragma unroll
    for (int j = 0; j < unrolled; ++j) {
      const std::int64_t y = row + (r + j) * stride.row;
      if (y >= args.m) return;
      const float scale_a = e.scale_a != nullptr ? e.scale_a[y * e.scale_a_stride] : 1.0f;
#pragma unroll
      for (int i = 0; i < cols_per_lane; ++i) {
        const std::int64_t x = col + (lane + 32 * i) * stride.col;
        if (x >= end) continue;
        const Accumulator accum = staged[StagedTile::at(r + j, lane + 32 * i)];
        if (is_int32) {
          store_int32(args, static_cast<std::int32_t>(accum), y, x);
          continue;
        }
        float value = scaled_sum(e.alpha, scale_a, scale_b[i], static_cast<float>(accum));
        if (e.beta != 0) value += e.beta * old[j][i];
        if (bias_of_column) value += bias[i];
        else if (e.bias != nullptr)
          value += load_as_float(e.bias_element, e.bias, y * e.bias_row_stride + x * e.bias_col_stride);
        store_float(args.c_element, args.c_data, y * args.c_stride + x, apply(e.post_op, value));
      }
    }
  }
}

// Stores a consumer's accumulators through shared memory, 16 rows and 64 columns of each warp at a time. The
// outer loop is not unrolled: its body is long.
template <class Traits, int accumulators>
__device__ __forceinline__ void store_rows(
    const typename Traits::Args& args, const TileShared<Traits>& shared, int consumer,
    const typename Traits::Accumulator (&accum)[Traits::m_tiles][accumulators], int row, int col) {
  using Accumulator = typename Traits::Accumulator;
  struct alignas(8) Pair {
    Accumulator left, right;
  };
  const int thread_in_warpgroup = opaque_thread_index() % 128, warp = thread_in_warpgroup / 32,
            lane = thread_in_warpgroup % 32;
  Accumulator* const staged = reinterpret_cast<Accumulator*>(shared.epilogue_smem(consumer)) +
                              warp * StagedTile::rows * StagedTile::cols;
  constexpr int stores_per_m_tile = 2 * accumulators / StagedTile::cols;
#pragma unroll 1
  for (int current = 0; current < Traits::m_tiles * stores_per_m_tile; ++current) {
#pragma unroll
    for (int m = 0; m < Traits::m_tiles; ++m)
#pragma unroll
      for (int store_index = 0; store_index < stores_per_m_tile; ++store_index) {
        if (current != m * stores_per_m_tile + store_index) continue;
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
          const int r = lane / 4 + 8 * (i / 2 % 2), c = 8 * (i / 4) + 2 * (lane % 4);
          *reinterpret_cast<Pair*>(staged + StagedTile::at(r, c)) = {accum[m][32 * store_index + i],
                                                                     accum[m][32 * store_index + i + 1]};
        }
      }
    __syncwarp();
    const auto stride = output_stride<Traits>(args);
    store_staged_rows(args, staged, row + (current / stores_per_m_tile * 64 + warp * 16) * stride.row,
                      col + current % stores_per_m_tile * StagedTile::cols * stride.col,
                      end_of_tile<Traits>(args, col), stride);
    __syncwarp();
  }
}

// Packs two neighbouring results, as 16-bit elements, into one 32-bit word.
__device__ __forceinline__ std::uint32_t pair_of(__nv_bfloat16, float left, float right) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}
__device__ __forceinline__ std::uint32_t pair_of(__half, float left, float right) {
  const __half2 both = __floats2half2_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}

// The scalar of a scalar-only epilogue.
struct EpilogueScale {
  float scale;
  bool scale_is_normal;  // false: the scale over- or underflows in f32, and scaled_sum() uses f64
  std::uint32_t alpha_int32;

  __device__ explicit EpilogueScale(const EpilogueArgs& e) : scale(e.alpha) {
    if (e.scale_a != nullptr) scale *= *e.scale_a;
    scale_is_normal = is_normal(scale);
    if (e.scale_b != nullptr) scale *= *e.scale_b;
    scale_is_normal = (scale_is_normal && is_normal(scale)) || e.alpha == 0;
    alpha_int32 = static_cast<std::uint32_t>(static_cast<std::int32_t>(e.alpha));
  }
  template <class Out, class Accumulator>
  __device__ __forceinline__ auto of(Accumulator accum) const {
    if constexpr (std::is_same_v<Out, std::int32_t>) return alpha_int32 * static_cast<std::uint32_t>(accum);
    else return scale * static_cast<float>(accum);
  }
};

// Writes 64 rows × 128 bytes of a consumer's results, those of store `store_index`, to a staging buffer, with
// the 128-byte swizzle.
template <class Out, class Accumulator, int accumulators>
__device__ __forceinline__ void fill_staging_buffer(unsigned char* staging, const EpilogueScale& scale,
                                                    const Accumulator (&accum)[accumulators],
                                                    int store_index) {
  const int thread_in_warpgroup = opaque_thread_index() % 128, warp = thread_in_warpgroup / 32,
            lane = thread_in_warpgroup % 32;
  if constexpr (sizeof(Out) == 2) {
    const int r = warp * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      std::uint32_t regs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (store_index * 8 + j) + 2 * i;
        regs[i] = pair_of(Out{}, scale.of<Out>(accum[at]), scale.of<Out>(accum[at + 1]));
      }
      ptx::stmatrix_x4(staging + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, regs[0], regs[1], regs[2],
                       regs[3]);
    }
  } else {
    struct alignas(8) Pair {
      Out left, right;
    };
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const int r = warp * 16 + lane / 4 + 8 * (i / 2 % 2), chunk16 = 2 * (i / 4) + lane % 4 / 2,
                at = 16 * store_index + i;
      *reinterpret_cast<Pair*>(staging + r * 128 + (chunk16 ^ (r % 8)) * 16 + lane % 2 * 8) = {
          static_cast<Out>(scale.of<Out>(accum[at])), static_cast<Out>(scale.of<Out>(accum[at + 1]))};
    }
  }
}

// Copies a warp's 16 rows of a staging buffer to C, one element per lane, at any alignment. `row`: row of C
// of the warp's first row.
template <class Out, class Stride>
__device__ __forceinline__ void store_elements(const WgmmaArgs& args, const unsigned char* staging, int warp,
                                               int lane, int row, int col, int end, Stride stride) {
  constexpr int bytes = sizeof(Out), cols = 128 / bytes;
  Out* const to = static_cast<Out*>(args.c_data) + row * args.c_stride + col + lane * stride.col;
  const int rows = min(16, (static_cast<int>(args.m) - row + stride.row - 1) / stride.row),
            valid = end - col - lane * stride.col;
#pragma unroll 4
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int i = 0; i < cols; i += 32) {
      const int at = (lane + i) * bytes;
      const unsigned char* const from =
          staging + (warp * 16 + r) * 128 + ((at / 16) ^ (r % 8)) * 16 + at % 16;
      if (i * stride.col < valid)
        to[r * stride.row * args.c_stride + i * stride.col] = *reinterpret_cast<const Out*>(from);
    }
}

// store_elements() with 16-byte vector stores, for a C whose rows begin at multiples of 16 bytes. end - col
// elements must be a multiple of 16 bytes.
template <class Out>
__device__ __forceinline__ void store_vectors(const WgmmaArgs& args, const unsigned char* staging, int warp,
                                              int lane, int row, int col, int end) {
  constexpr int elements_per_vector = 16 / static_cast<int>(sizeof(Out));
  const int vectors = (end - col) / elements_per_vector, rows = min(16, static_cast<int>(args.m) - row);
  for (int i = lane; i < rows * vectors; i += 32) {
    const int r = i / vectors, vector = i % vectors;
    Out* const to =
        static_cast<Out*>(args.c_data) + (row + r) * args.c_stride + col + vector * elements_per_vector;
    *reinterpret_cast<uint4*>(to) =
        *reinterpret_cast<const uint4*>(staging + (warp * 16 + r) * 128 + (vector ^ (r % 8)) * 16);
  }
}

// Stores a consumer's accumulators through two staging buffers alternately: a warp fills its rows of one
// while the TMA reads the other, without waiting for other warps. The TMA stores them if args.tma_store, else
// the warp does. `layer`: the z coordinate of a three-dimensional tensor map of C.
template <class Traits, class Out, int accumulators, class... Layer>
__device__ __forceinline__ void store_through_smem(
    const typename Traits::Args& args, const TileShared<Traits>& shared, int consumer,
    const typename Traits::Accumulator (&accum)[Traits::m_tiles][accumulators], int row, int col,
    Layer... layer) {
  const bool tma_store = !Traits::misaligned_rows && (sizeof...(Layer) > 0 || args.tma_store);
  const auto stride = output_stride<Traits>(args);
  constexpr int cols = 128 / static_cast<int>(sizeof(Out)), stores_per_m_tile = 2 * accumulators / cols,
                store_count = Traits::m_tiles * stores_per_m_tile;
  const EpilogueScale scale(args.epilogue);
  const int thread_in_warpgroup = opaque_thread_index() % 128, warp = thread_in_warpgroup / 32,
            lane = thread_in_warpgroup % 32;
#pragma unroll
  for (int m = 0; m < Traits::m_tiles; ++m) {
#pragma unroll
    for (int store_index = 0; store_index < stores_per_m_tile; ++store_index) {
      unsigned char* const staging = shared.epilogue_smem(consumer) +
                                     (m * stores_per_m_tile + store_index) % 2 * Traits::staging_buffer_bytes;
      const int first_row = row + (m * 64 + warp * 16) * stride.row,
                first_col = col + store_index * cols * stride.col, end = end_of_tile<Traits>(args, col);
      if (Traits::runtime_shape && first_col >= end) continue;
      // With an odd number of stores a tile's first staging buffer is the one that the previous tile used
      // last.
      if (tma_store && lane == 0) {
        if ((Traits::runtime_shape || store_count % 2 == 1) && m + store_index == 0)
          ptx::tma_store_wait_group_read<0>();
        else ptx::tma_store_wait_group_read<1>();
      }
      __syncwarp();
      fill_staging_buffer<Out>(staging, scale, accum[m], store_index);
      // The TMA must not store a box that extends beyond the tile.
      const bool is_partial = Traits::runtime_shape && end < args.n && first_col + cols > end;
      if (tma_store && is_partial) {
        __syncwarp();
        store_vectors<Out>(args, staging, warp, lane, first_row, first_col, end);
        if (lane == 0) ptx::tma_store_commit_group();  // an empty group: it keeps the count of groups
      } else if (tma_store) {
        ptx::fence_proxy_async();
        __syncwarp();
        if (lane != 0) continue;
        ptx::tma_store(args.c, staging + warp * 16 * 128, first_col, first_row, layer...);
        ptx::tma_store_commit_group();
      } else {
        __syncwarp();
        store_elements<Out>(args, staging, warp, lane, first_row, first_col, end, stride);
      }
    }
  }
}

// Stores a tile with a scalar-only epilogue.
template <class Traits, int accumulators, class... Layer>
__device__ __forceinline__ void store_scalar_only(
    const typename Traits::Args& args, const TileShared<Traits>& shared, int consumer,
    const typename Traits::Accumulator (&accum)[Traits::m_tiles][accumulators], int row, int col,
    Layer... layer) {
  if constexpr (!std::is_same_v<typename Traits::Accumulator, float>) {
    if (args.c_element == Element::i32)
      return store_through_smem<Traits, std::int32_t, accumulators>(args, shared, consumer, accum, row, col,
                                                                    layer...);
  } else if constexpr (Traits::Kind::bytes <= 2) {
    if (args.c_element == Element::bf16)
      return store_through_smem<Traits, __nv_bfloat16, accumulators>(args, shared, consumer, accum, row, col,
                                                                     layer...);
    if (args.c_element == Element::f16)
      return store_through_smem<Traits, __half, accumulators>(args, shared, consumer, accum, row, col,
                                                              layer...);
  }
  store_through_smem<Traits, float, accumulators>(args, shared, consumer, accum, row, col, layer...);
}

// Stores a tile. row, col: the position in C of this consumer's first element.
template <class Traits, int accumulators>
__device__ __forceinline__ void store_tile(
    const typename Traits::Args& args, const TileShared<Traits>& shared, int consumer,
    const typename Traits::Accumulator (&accum)[Traits::m_tiles][accumulators], int row, int col) {
  if (args.use_staged_scalar_epilogue && EpilogueScale(args.epilogue).scale_is_normal)
    store_scalar_only<Traits, accumulators>(args, shared, consumer, accum, row, col);
  else store_rows<Traits, accumulators>(args, shared, consumer, accum, row, col);
}

// Applies the epilogue to one sum and stores it.
template <class Accumulator>
__device__ __forceinline__ void store_element(const WgmmaArgs& args, Accumulator sum, std::int64_t y,
                                              std::int64_t x) {
  const EpilogueArgs& e = args.epilogue;
  if (args.c_element == Element::i32) return store_int32(args, static_cast<std::int32_t>(sum), y, x);
  float value =
      scaled_sum(e.alpha, e.scale_a != nullptr ? e.scale_a[y * e.scale_a_stride] : 1.0f,
                 e.scale_b != nullptr ? e.scale_b[x * e.scale_b_stride] : 1.0f, static_cast<float>(sum));
  if (e.beta != 0)
    value += e.beta * load_as_float(args.c_element, e.c0, y * e.c0_row_stride + x * e.c0_col_stride);
  if (e.bias != nullptr)
    value += load_as_float(e.bias_element, e.bias, y * e.bias_row_stride + x * e.bias_col_stride);
  store_float(args.c_element, args.c_data, y * args.c_stride + x, apply(e.post_op, value));
}

// Four neighbouring sums of a row.
template <class Accumulator>
struct alignas(16) Quad {
  Accumulator sums[4];
};

// Applies the epilogue to four sums, of which the first is inside C, and stores those inside C. `x` is a
// multiple of 4.
template <class Accumulator>
__device__ __forceinline__ void store_quad(const WgmmaArgs& args, const EpilogueScale& scale,
                                           const Quad<Accumulator>& quad, std::int64_t y, std::int64_t x) {
  if (args.tma_store && scale.scale_is_normal) {
    // C's address and row stride are multiples of 16 bytes, and n of 4.
    const std::int64_t at = y * args.c_stride + x;
    const auto store = [&]<class Out>(Out* to) {
      alignas(4 * sizeof(Out)) Out out[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) out[i] = static_cast<Out>(scale.of<Out>(quad.sums[i]));
      using Vector = std::conditional_t<sizeof(Out) == 4, uint4, uint2>;
      *reinterpret_cast<Vector*>(to + at) = reinterpret_cast<const Vector&>(out);
    };
    if (args.c_element == Element::i32) store(static_cast<std::int32_t*>(args.c_data));
    else if (args.c_element == Element::f32) store(static_cast<float*>(args.c_data));
    else if (args.c_element == Element::f16) store(static_cast<__half*>(args.c_data));
    else store(static_cast<__nv_bfloat16*>(args.c_data));
    return;
  }
#pragma unroll 1
  for (int i = 0; i < 4 && x + i < args.n; ++i) {
    const Accumulator sum = i == 0   ? quad.sums[0]
                            : i == 1 ? quad.sums[1]
                            : i == 2 ? quad.sums[2]
                                     : quad.sums[3];
    store_element(args, sum, y, x + i);
  }
}

// Reduces a tile's split-K partial sums through the workspace, among the blocks that compute its splits. A
// slot of the workspace has pairs of neighbouring sums, the n-th pair of all threads side by side.
template <class Traits>
class InterBlockReduction {
 public:
  using Accumulator = typename Traits::Accumulator;

  __device__ InterBlockReduction(const WgmmaArgs& args, const TileShared<Traits>& shared,
                                 TileOrder::Tile tile, std::uint32_t rank)
      : stages_(shared.base),
        rows_(shape_of_tile<Traits>(args).rows),
        cols_(shape_of_tile<Traits>(args).cols),
        splits_(args.order.splits),
        thread_(opaque_thread_index() - 128),
        threads_(Traits::runtime_shape ? rows_ / rows_granularity * 128 : Traits::consumer_threads),
        tile_index_((tile.row * args.order.cols + tile.col) * cluster_blocks<Traits>(args) +
                    static_cast<int>(rank)),
        arrived_(args.arrived),
        partials_(static_cast<Accumulator*>(args.partial) + std::int64_t{tile_index_} * splits_ * slot()) {}

  __device__ __forceinline__ void store_partial(
      int split, const Accumulator (&accum)[Traits::m_tiles][Traits::accumulators]) const {
    struct alignas(8) Pair {
      Accumulator left, right;
    };
    auto* const to = reinterpret_cast<unsigned long long*>(partials_ + split * slot()) + thread_;
#pragma unroll
    for (int m = 0; m < Traits::m_tiles; ++m)
#pragma unroll
      for (int i = 0; i < Traits::accumulators; i += 2) {
        if (Traits::runtime_shape && 2 * i >= cols_) continue;
        const Pair pair{accum[m][i], accum[m][i + 1]};
        __stcg(to + (m * Traits::accumulators + i) / 2 * threads_,
               reinterpret_cast<const unsigned long long&>(pair));
      }
  }

  // Adds the partial sums in their order and stores the tile, whose first row and column in C are `row` and
  // `col`. If all blocks are resident, each of them stores an equal part; otherwise the last one to arrive
  // stores the tile.
  __device__ __forceinline__ void add_and_store(const WgmmaArgs& args, int split, int row, int col) const {
    synchronize();  // all partial sums of the block are stored
    if (args.splits_can_wait) {
      const std::uint32_t departed_before = arrive_and_wait();
      add_and_store_part(args, row, col, split, splits_);
      if (departed_before + 1 == static_cast<std::uint32_t>(splits_)) atomicExch(arrived_ + tile_index_, 0u);
    } else if (arrive_and_check_last()) {
      add_and_store_part(args, row, col, 0, 1);
    }
  }

 private:
  __device__ __forceinline__ int slot() const { return rows_ * cols_; }
  __device__ __forceinline__ void synchronize() const {
    ptx::named_barrier_sync(1 + Traits::consumer_warpgroups, threads_);
  }

  // Returns true in the last block of the tile to arrive, which resets the counter.
  __device__ __forceinline__ bool arrive_and_check_last() const {
    __shared__ int last;
    const auto others = static_cast<unsigned>(splits_) - 1;
    if (thread_ == 0) {
      __threadfence();
      last = atomicInc(arrived_ + tile_index_, others) == others;
      __threadfence();
    }
    synchronize();
    return last != 0;
  }

  // Waits for the tile's other splits, whose blocks must all be resident. Returns, in thread 0, how many
  // blocks had waited before; the last one must reset the counter.
  __device__ __forceinline__ std::uint32_t arrive_and_wait() const {
    std::uint32_t departed_before = 0;
    if (thread_ == 0) {
      std::uint32_t* const counter = arrived_ + tile_index_;
      __threadfence();
      atomicAdd(counter, 1u);
      while (ptx::load_acquire(counter) < static_cast<std::uint32_t>(splits_)) {
      }
      departed_before =
          atomicInc(arrived_ + max_split_tiles - 1 - tile_index_, static_cast<unsigned>(splits_) - 1);
    }
    synchronize();
    return departed_before;
  }

  struct Position {
    int row, col;
  };
  // Returns the position in the tile of the first sum of quad `index`. 32 quads are 8 rows of 16 columns,
  // which divide every tile: a warp reads 256 bytes side by side, and writes whole sectors of a C whose rows
  // are aligned to 32 bytes.
  __device__ __forceinline__ Position position_of(int index) const {
    const int patch = index / 32, lane = index % 32, patches_per_row = cols_ / 16;
    return {patch / patches_per_row * 8 + lane / 4, patch % patches_per_row * 16 + lane % 4 * 4};
  }
  // Returns the quad's offset in a slot, in quads: it consists of the pairs of two neighbouring threads.
  __device__ __forceinline__ int offset_of(Position at) const {
    const int m = at.row / 64 % Traits::m_tiles,
              pair = (m * Traits::accumulators + at.col / 8 * 4 + at.row / 8 % 2 * 2) / 2,
              warp = at.row / (Traits::m_tiles * 64) * 4 + at.row % 64 / 16,
              thread = warp * 32 + at.row % 8 * 4 + at.col % 8 / 2;
    return (pair * threads_ + thread) / 2;
  }

  // Each thread adds some quads at a time. Their partial sums are copied to the pipeline's stages first,
  // which are free, so that the copies' latencies overlap.
  __device__ __forceinline__ void add_and_store_part(const WgmmaArgs& args, int row, int col, int part,
                                                     int parts) const {
    constexpr int max_copies = 16;
    static_assert(max_copies * 16 * (Traits::threads - 128) <= Traits::pipeline_bytes);
    const EpilogueScale scale(args.epilogue);
    // The warps of all blocks take 32 quads in turn.
    const int quads = slot() / 4, step = parts * threads_, at_once = max(max_copies / splits_, 1);
    const auto copied = [&](int i) {
      return reinterpret_cast<Quad<Accumulator>*>(stages_) + i * threads_ + thread_;
    };
#pragma unroll 1
    for (int first = (thread_ / 32 * parts + part) * 32 + thread_ % 32; first < quads;
         first += at_once * step) {
      const int end = min(first + at_once * step, quads);
      Quad<Accumulator> total;
#pragma unroll 1
      for (int split = 0; split < splits_; split += max_copies) {
        const int count = min(splits_ - split, max_copies);
        int copy = 0;
#pragma unroll 1
        for (int quad = first; quad < end; quad += step) {
          const auto* from = reinterpret_cast<const Quad<Accumulator>*>(partials_) +
                             offset_of(position_of(quad)) + split * quads;
#pragma unroll 4
          for (int i = 0; i < count; ++i, from += quads) ptx::cp_async<16>(copied(copy++), from);
        }
        ptx::cp_async_commit_group();
        ptx::cp_async_wait_group<0>();
        copy = 0;
#pragma unroll 1
        for (int quad = first; quad < end; quad += step) {
          // -0 is the sum of nothing: see accumulate_segments().
          if (split == 0)
            for (Accumulator& sum : total.sums) sum = static_cast<Accumulator>(-0.0f);
#pragma unroll 4
          for (int i = 0; i < count; ++i) {
            const Quad<Accumulator> addend = *copied(copy++);
#pragma unroll
            for (int j = 0; j < 4; ++j) total.sums[j] += addend.sums[j];
          }
          if (split + count < splits_) continue;
          const Position at = position_of(quad);
          const int y = row + at.row, x = col + at.col;
          if (y < args.m && x < args.n) store_quad(args, scale, total, y, x);
        }
      }
    }
  }

  unsigned char* stages_;
  int rows_, cols_, splits_, thread_, threads_, tile_index_;
  std::uint32_t* arrived_;
  Accumulator* partials_;
};

// Reduces the partial sums of a cluster's blocks. Each block writes its own to its pipeline stages; then each
// adds 64 × 64 tiles over distributed shared memory, in the order of the splits, and stores them. `row`,
// `col`: the tile's first row and column in C.
template <class Traits>
__device__ __forceinline__ void reduce_cluster_splits(
    const typename Traits::Args& args, const TileShared<Traits>& shared, std::uint32_t rank, int consumer,
    const typename Traits::Accumulator (&accum)[Traits::m_tiles][Traits::accumulators], int row, int col) {
  using Accumulator = typename Traits::Accumulator;
  constexpr int accumulators = 32, loads = accumulators / 4, tile64_bytes = accumulators * 128 * 4,
                tile64_count = Traits::consumer_warpgroups * Traits::cols / 64;
  static_assert(tile64_count * tile64_bytes <= Traits::stages * Traits::stage_bytes);
  const int thread_in_warpgroup = opaque_thread_index() % 128;
  ptx::named_barrier_sync(1 + Traits::consumer_warpgroups,
                          Traits::consumer_threads);  // others may still read these stages
#pragma unroll
  for (int i = 0; i < Traits::accumulators / 4; ++i) {
    const int tile64 = i / loads * Traits::consumer_warpgroups + consumer;
    struct alignas(16) Four {
      Accumulator values[4];
    };
    *reinterpret_cast<Four*>(shared.base + tile64 * tile64_bytes +
                             (i % loads * 128 + thread_in_warpgroup) * 16) = {
        {accum[0][4 * i], accum[0][4 * i + 1], accum[0][4 * i + 2], accum[0][4 * i + 3]}};
  }
  ptx::cluster_sync();
#pragma unroll 1
  for (int tile64 = consumer * args.cluster_splits + static_cast<int>(rank); tile64 < tile64_count;
       tile64 += args.cluster_splits * Traits::consumer_warpgroups) {
    Accumulator total[1][accumulators];
    const std::uint32_t address =
        ptx::shared_address(shared.base) +
        static_cast<std::uint32_t>(tile64 * tile64_bytes + thread_in_warpgroup * 16);
#pragma unroll 1
    for (int split = 0; split < args.cluster_splits; ++split) {
      uint4 loaded[loads];
#pragma unroll
      for (int i = 0; i < loads; ++i)
        loaded[i] = ptx::ld_shared_cluster(address + static_cast<std::uint32_t>(i * 2048),
                                           static_cast<std::uint32_t>(split));
#pragma unroll
      for (int i = 0; i < accumulators; ++i) {
        const std::uint32_t bits = i % 4 == 0   ? loaded[i / 4].x
                                   : i % 4 == 1 ? loaded[i / 4].y
                                   : i % 4 == 2 ? loaded[i / 4].z
                                                : loaded[i / 4].w;
        const Accumulator addend = reinterpret_cast<const Accumulator&>(bits);
        total[0][i] = split == 0 ? addend : total[0][i] + addend;
      }
    }
    const auto stride = output_stride<Traits>(args);
    store_tile<Traits, accumulators>(args, shared, consumer, total,
                                     row + tile64 % Traits::consumer_warpgroups * 64 * stride.row,
                                     col + tile64 / Traits::consumer_warpgroups * 64 * stride.col);
  }
}

}  // namespace tessera::matmul
