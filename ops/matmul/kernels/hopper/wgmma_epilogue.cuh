// SPDX-License-Identifier: Apache-2.0
// The epilogue of the wgmma kernels: from accumulators to C. store_plain stages boxes for the TMA where the
// epilogue is a product with one scalar; store_rows stages rows for coalesced stores otherwise. Split-K: the
// partial sums of several units of work are reduced first, in a fixed order, in global memory (reduce_splits)
// or through distributed shared memory (reduce_cluster_splits).
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>
#include "ops/matmul/epilogue/epilogue.hpp"
#include "ops/matmul/kernels/hopper/wgmma_args.cuh"
#include "tessera/cuda/ptx/cluster.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"
#include "tessera/cuda/ptx/tma.cuh"

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
      // Rounds to nearest and saturates; NaN becomes 0.
      static_cast<signed char*>(data)[offset] =
          static_cast<signed char>(max(-128, min(127, __float2int_rn(value))));
      return;
    default:
      static_cast<float*>(data)[offset] = value;
  }
}

// Integer epilogue, modulo 2^32.
__device__ __forceinline__ void store_whole(const WgmmaArgs& args, std::int32_t sum, std::int64_t y,
                                            std::int64_t x) {
  const EpilogueArgs& e = args.epilogue;
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

// 16 rows of 64 sums that a warp stages. Pairs of 16-byte pieces are swizzled by the row's number, so that
// neither writing by fragments nor reading by rows has bank conflicts.
struct StagedTile {
  static constexpr int rows = 16, cols = 64;
  static __device__ __forceinline__ int at(int row, int col) {
    return row * cols + (((col / 4) ^ (row % 4 * 2)) * 4 | col % 4);
  }
};

// The increments of C's row and column number between neighbouring rows and columns of a tile.
struct UnitStride {
  static constexpr int row = 1, col = 1;
};
struct MisalignedStride {
  int row, col;
};
template <class C>
__device__ __forceinline__ auto output_stride(const typename C::Args& args) {
  if constexpr (C::misaligned_rows) {
    const int count = args.zeros.count();
    return args.of_b ? MisalignedStride{1, count} : MisalignedStride{count, 1};
  } else {
    return UnitStride();
  }
}

// Returns the end of the tile's columns in C. `col`: its first.
template <class C>
__device__ __forceinline__ int end_of_tile(const typename C::Args& args, int col) {
  const int n = static_cast<int>(args.n);
  if constexpr (C::any_size) return min(n, col + args.size.cols);
  else return n;
}

// Applies the epilogue to staged rows and stores them. `end`: the end of the columns.
template <class Sum, class Stride>
__device__ __forceinline__ void store_staged_rows(const WgmmaArgs& args, const Sum* staged, int row, int col,
                                                  int end, Stride stride) {
  constexpr int pieces = 2, unrolled = 2;  // of 32 columns; rows in flight
  const EpilogueArgs& e = args.epilogue;
  const int lane = opaque_thread_index() % 32;
  const bool whole = args.out_element == Element::i32, bias_of_column = e.bias != nullptr && e.bias_row == 0;
  float scale_b[pieces], bias[pieces];
#pragma unroll
  for (int i = 0; i < pieces; ++i) {
    const std::int64_t x = col + (lane + 32 * i) * stride.col;
    const bool valid = x < end;
    scale_b[i] = valid && e.scale_b != nullptr ? e.scale_b[x * e.scale_b_step] : 1.0f;
    bias[i] = valid && bias_of_column && !whole ? real_at(e.bias_element, e.bias, x * e.bias_col) : 0.0f;
  }
#pragma unroll 1
  for (int r = 0; r < StagedTile::rows; r += unrolled) {
    float old[unrolled][pieces];
#pragma unroll
    for (int j = 0; j < unrolled; ++j)
#pragma unroll
      for (int i = 0; i < pieces; ++i) {
        const std::int64_t y = row + (r + j) * stride.row, x = col + (lane + 32 * i) * stride.col;
        old[j][i] = e.beta != 0 && !whole && y < args.m && x < end
                        ? real_at(args.out_element, e.c0, y * e.c0_row + x * e.c0_col)
                        : 0.0f;
      }
#pragma unroll
    for (int j = 0; j < unrolled; ++j) {
      const std::int64_t y = row + (r + j) * stride.row;
      if (y >= args.m) return;
      const float scale_a = e.scale_a != nullptr ? e.scale_a[y * e.scale_a_step] : 1.0f;
#pragma unroll
      for (int i = 0; i < pieces; ++i) {
        const std::int64_t x = col + (lane + 32 * i) * stride.col;
        if (x >= end) continue;
        const Sum sum = staged[StagedTile::at(r + j, lane + 32 * i)];
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

// Stores a consumer's sums through shared memory, 16 rows and 64 columns of each warp at a time. The outer
// loop is not unrolled: its body is long.
template <class C, int sums>
__device__ __forceinline__ void store_rows(const typename C::Args& args, const TileShared<C>& shared,
                                           int consumer, const typename C::Sum (&sum)[C::row_blocks][sums],
                                           int row, int col) {
  using Sum = typename C::Sum;
  struct alignas(8) Pair {
    Sum left, right;
  };
  const int me = opaque_thread_index() % 128, warp = me / 32, lane = me % 32;
  Sum* const staged =
      reinterpret_cast<Sum*>(shared.out(consumer)) + warp * StagedTile::rows * StagedTile::cols;
  constexpr int parts = 2 * sums / StagedTile::cols;
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
          *reinterpret_cast<Pair*>(staged + StagedTile::at(r, c)) = {sum[block][32 * part + i],
                                                                     sum[block][32 * part + i + 1]};
        }
      }
    __syncwarp();
    const auto stride = output_stride<C>(args);
    store_staged_rows(args, staged, row + (step / parts * 64 + warp * 16) * stride.row,
                      col + step % parts * StagedTile::cols * stride.col, end_of_tile<C>(args, col), stride);
    __syncwarp();
  }
}

// Two neighbouring results as one word of 16-bit elements.
__device__ __forceinline__ std::uint32_t pair_of(__nv_bfloat16, float left, float right) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}
__device__ __forceinline__ std::uint32_t pair_of(__half, float left, float right) {
  const __half2 both = __floats2half2_rn(left, right);
  return reinterpret_cast<const std::uint32_t&>(both);
}

// The scalar of a plain epilogue.
struct EpilogueScale {
  float real;
  bool scale_is_normal;  // else the product over- or underflows in f32: scaled_sum() uses f64
  std::uint32_t whole;

  __device__ explicit EpilogueScale(const EpilogueArgs& e) : real(e.alpha) {
    if (e.scale_a != nullptr) real *= *e.scale_a;
    scale_is_normal = is_ordinary(real);
    if (e.scale_b != nullptr) real *= *e.scale_b;
    scale_is_normal = (scale_is_normal && is_ordinary(real)) || e.alpha == 0;
    whole = static_cast<std::uint32_t>(static_cast<std::int32_t>(e.alpha));
  }
  template <class Out, class Sum>
  __device__ __forceinline__ auto of(Sum sum) const {
    if constexpr (std::is_same_v<Out, std::int32_t>) return whole * static_cast<std::uint32_t>(sum);
    else return real * static_cast<float>(sum);
  }
};

// Writes part `part` of a consumer's 64 rows to a TMA box, with the 128-byte swizzle.
template <class Out, class Sum, int sums>
__device__ __forceinline__ void fill_box(unsigned char* box, const EpilogueScale& scale,
                                         const Sum (&sum)[sums], int part) {
  const int me = opaque_thread_index() % 128, warp = me / 32, lane = me % 32;
  if constexpr (sizeof(Out) == 2) {
    const int r = warp * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      std::uint32_t piece[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (part * 8 + j) + 2 * i;
        piece[i] = pair_of(Out{}, scale.of<Out>(sum[at]), scale.of<Out>(sum[at + 1]));
      }
      ptx::stmatrix_x4(box + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, piece[0], piece[1], piece[2],
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
          static_cast<Out>(scale.of<Out>(sum[at])), static_cast<Out>(scale.of<Out>(sum[at + 1]))};
    }
  }
}

// Copies a warp's 16 rows of a box to C, lane by element, at any alignment. `row`: of C, of the warp's first
// row.
template <class Out, class Stride>
__device__ __forceinline__ void store_elements(const WgmmaArgs& args, const unsigned char* box, int warp,
                                               int lane, int row, int col, int end, Stride stride) {
  constexpr int bytes = sizeof(Out), cols = 128 / bytes;
  Out* const to = static_cast<Out*>(args.out) + row * args.out_row + col + lane * stride.col;
  const int rows = min(16, (static_cast<int>(args.m) - row + stride.row - 1) / stride.row),
            valid = end - col - lane * stride.col;
#pragma unroll 4
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int i = 0; i < cols; i += 32) {
      const int at = (lane + i) * bytes;
      const unsigned char* const from = box + (warp * 16 + r) * 128 + ((at / 16) ^ (r % 8)) * 16 + at % 16;
      if (i * stride.col < valid)
        to[r * stride.row * args.out_row + i * stride.col] = *reinterpret_cast<const Out*>(from);
    }
}

// The same for rows that begin at multiples of 16 bytes, and a width that is one.
template <class Out>
__device__ __forceinline__ void store_vectors(const WgmmaArgs& args, const unsigned char* box, int warp,
                                              int lane, int row, int col, int end) {
  constexpr int each = 16 / static_cast<int>(sizeof(Out));
  const int pieces = (end - col) / each, rows = min(16, static_cast<int>(args.m) - row);
  for (int i = lane; i < rows * pieces; i += 32) {
    const int r = i / pieces, piece = i % pieces;
    Out* const to = static_cast<Out*>(args.out) + (row + r) * args.out_row + col + piece * each;
    *reinterpret_cast<uint4*>(to) =
        *reinterpret_cast<const uint4*>(box + (warp * 16 + r) * 128 + (piece ^ (r % 8)) * 16);
  }
}

// Stores a consumer's accumulators through two boxes in turn: a warp fills its rows of one while the TMA
// reads the other, without waiting for other warps. The box is stored by the TMA if args.tma_store, else by
// the warp. `layer`: the z coordinate of a three-dimensional tensor map of C.
template <class C, class Out, int sums, class... Layer>
__device__ __forceinline__ void store_through_smem(const typename C::Args& args, const TileShared<C>& shared,
                                                   int consumer,
                                                   const typename C::Sum (&sum)[C::row_blocks][sums], int row,
                                                   int col, Layer... layer) {
  const bool tma_store = !C::misaligned_rows && (sizeof...(Layer) > 0 || args.tma_store);
  const auto stride = output_stride<C>(args);
  constexpr int cols = 128 / static_cast<int>(sizeof(Out)), parts = 2 * sums / cols,
                all = C::row_blocks * parts;
  const EpilogueScale scale(args.epilogue);
  const int me = opaque_thread_index() % 128, warp = me / 32, lane = me % 32;
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) {
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      unsigned char* const box = shared.out(consumer) + (block * parts + part) % 2 * C::box_bytes;
      const int first_row = row + (block * 64 + warp * 16) * stride.row,
                first_col = col + part * cols * stride.col, end = end_of_tile<C>(args, col);
      if (C::any_size && first_col >= end) continue;
      // With an odd number of boxes a tile's first box is the one that the previous tile used last.
      if (tma_store && lane == 0) {
        if ((C::any_size || all % 2 == 1) && block + part == 0) ptx::tma_store_wait_group_read<0>();
        else ptx::tma_store_wait_group_read<1>();
      }
      __syncwarp();
      fill_box<Out>(box, scale, sum[block], part);
      // A box that extends beyond the tile must not be stored as a whole.
      const bool is_partial = C::any_size && end < args.n && first_col + cols > end;
      if (tma_store && is_partial) {
        __syncwarp();
        store_vectors<Out>(args, box, warp, lane, first_row, first_col, end);
        if (lane == 0) ptx::tma_store_commit_group();  // an empty group: it keeps the count of groups
      } else if (tma_store) {
        ptx::fence_proxy_async();
        __syncwarp();
        if (lane != 0) continue;
        ptx::tma_store(args.c, box + warp * 16 * 128, first_col, first_row, layer...);
        ptx::tma_store_commit_group();
      } else {
        __syncwarp();
        store_elements<Out>(args, box, warp, lane, first_row, first_col, end, stride);
      }
    }
  }
}

// Stores a tile with a plain epilogue.
template <class C, int sums, class... Layer>
__device__ __forceinline__ void store_plain(const typename C::Args& args, const TileShared<C>& shared,
                                            int consumer, const typename C::Sum (&sum)[C::row_blocks][sums],
                                            int row, int col, Layer... layer) {
  if constexpr (!std::is_same_v<typename C::Sum, float>) {
    if (args.out_element == Element::i32)
      return store_through_smem<C, std::int32_t, sums>(args, shared, consumer, sum, row, col, layer...);
  } else if constexpr (C::Kind::bytes <= 2) {
    if (args.out_element == Element::bf16)
      return store_through_smem<C, __nv_bfloat16, sums>(args, shared, consumer, sum, row, col, layer...);
    if (args.out_element == Element::f16)
      return store_through_smem<C, __half, sums>(args, shared, consumer, sum, row, col, layer...);
  }
  store_through_smem<C, float, sums>(args, shared, consumer, sum, row, col, layer...);
}

// Stores a tile. row, col: of this consumer's first sum.
template <class C, int sums>
__device__ __forceinline__ void store_tile(const typename C::Args& args, const TileShared<C>& shared,
                                           int consumer, const typename C::Sum (&sum)[C::row_blocks][sums],
                                           int row, int col) {
  if (args.plain && EpilogueScale(args.epilogue).scale_is_normal)
    store_plain<C, sums>(args, shared, consumer, sum, row, col);
  else store_rows<C, sums>(args, shared, consumer, sum, row, col);
}

// Split-K reduction of a tile through the workspace, among the blocks that compute its splits.
template <class C>
class BlockSplitKReduction {
 public:
  using Sum = typename C::Sum;
  static constexpr int each = C::row_blocks * C::sums;  // sums of a thread

  __device__ BlockSplitKReduction(const WgmmaArgs& args, TileOrder::Tile tile, std::uint32_t rank)
      : splits_(args.order.splits),
        me_(opaque_thread_index() - 128),
        tile_index_((tile.row * args.order.cols + tile.col) * C::cluster + static_cast<int>(rank)),
        arrived_(args.arrived),
        all_(static_cast<Sum*>(args.partial) + std::int64_t{tile_index_} * splits_ * each * C::workers +
             me_) {}

  __device__ __forceinline__ void store_partial(int split, const Sum (&sum)[C::row_blocks][C::sums]) const {
    Sum* const mine = all_ + split * each * C::workers;
#pragma unroll
    for (int i = 0; i < each; ++i) __stcg(mine + i * C::workers, sum[i / C::sums][i % C::sums]);
    __threadfence();
    synchronize();
  }

  // True for the last block to arrive.
  __device__ __forceinline__ bool is_last() const {
    __shared__ int last;
    const auto others = static_cast<unsigned>(splits_) - 1;
    if (me_ == 0) {
      last = atomicInc(arrived_ + tile_index_, others) == others;
      __threadfence();
    }
    synchronize();
    const bool out = last != 0;
    synchronize();  // `last` has been read
    return out;
  }

  // Waits until all splits have arrived. Only if all their blocks are resident.
  __device__ __forceinline__ void wait_for_all() const {
    if (me_ == 0) {
      std::uint32_t* const here = arrived_ + tile_index_;
      atomicAdd(here, 1u);
      while (ptx::load_acquire(here) < static_cast<std::uint32_t>(splits_)) {
      }
      __threadfence();
    }
    synchronize();
  }

  // The last block to depart resets both counters to 0.
  __device__ __forceinline__ void depart() const {
    if (me_ != 0) return;
    const auto others = static_cast<unsigned>(splits_) - 1;
    if (atomicInc(arrived_ + most_split_tiles - 1 - tile_index_, others) == others)
      atomicExch(arrived_ + tile_index_, 0u);
  }

  // Adds the partial sums of one slice of columns. The next split is loaded while the previous one is added.
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
    ptx::named_barrier_sync(1 + C::consumers, C::workers);
  }

  int splits_, me_, tile_index_;
  std::uint32_t* arrived_;
  Sum* all_;
};

// Stores this split's partial sum, then reduces and stores slices of 64 columns: if all blocks are resident,
// each block every splits-th slice; else the last block to arrive, all slices.
template <class C>
__device__ __forceinline__ void reduce_splits(const typename C::Args& args, const TileShared<C>& shared,
                                              TileOrder::Tile tile, std::uint32_t rank, int consumer,
                                              const typename C::Sum (&sum)[C::row_blocks][C::sums], int row,
                                              int col) {
  const BlockSplitKReduction<C> reduction(args, tile, rank);
  reduction.store_partial(tile.split, sum);
  constexpr int slices = split_slices<C>, slice_sums = slice_cols / 2;
  int slice = 0, step = 1;
  const bool shares_work = slices > 1 && args.all_resident;
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

// Reduces the partial sums of a cluster's blocks: each block writes its own to its ring of stages; then each
// adds 64 × 64 pieces over distributed shared memory, in the order of the splits, and stores them. `row`,
// `col`: of the tile.
template <class C>
__device__ __forceinline__ void reduce_cluster_splits(const typename C::Args& args,
                                                      const TileShared<C>& shared, std::uint32_t rank,
                                                      int consumer,
                                                      const typename C::Sum (&sum)[C::row_blocks][C::sums],
                                                      int row, int col) {
  using Sum = typename C::Sum;
  constexpr int sums = 32, loads = sums / 4, piece_bytes = sums * 128 * 4,
                pieces = C::consumers * C::cols / 64;
  static_assert(pieces * piece_bytes <= C::stages * C::stage_bytes);
  const int me = opaque_thread_index() % 128;
  ptx::named_barrier_sync(1 + C::consumers, C::workers);  // others may still read these stages
#pragma unroll
  for (int i = 0; i < C::sums / 4; ++i) {
    const int piece = i / loads * C::consumers + consumer;
    struct alignas(16) Four {
      Sum of[4];
    };
    *reinterpret_cast<Four*>(shared.base + piece * piece_bytes + (i % loads * 128 + me) * 16) = {
        {sum[0][4 * i], sum[0][4 * i + 1], sum[0][4 * i + 2], sum[0][4 * i + 3]}};
  }
  ptx::cluster_sync();
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
        of[i] = ptx::ld_shared_cluster(here + static_cast<std::uint32_t>(i * 2048),
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
    const auto stride = output_stride<C>(args);
    store_tile<C, sums>(args, shared, consumer, all, row + piece % C::consumers * 64 * stride.row,
                        col + piece / C::consumers * 64 * stride.col);
  }
}

}  // namespace tessera::matmul
