// SPDX-License-Identifier: Apache-2.0
// From a warp's sums to C, by way of shared memory, so that lanes write neighbours; and splits of a sum
// joined.
#pragma once
#include "mma_copies.cuh"

namespace tessera::matmul {

template <class Kind>
struct MmaArgs {
  typename Kind::Problem p;  // what follows the sum
  MmaOperand<typename Kind::Element> a, b;
  std::int64_t k;
  bool turned;  // C(j, i) is what the operands' row i and column j give
  TileOrder order;
  std::int32_t depth, split_depth;  // stages, in all and of each split
  typename Kind::Sum* partial;      // of splits: tile after tile, a thread's sums `threads` apart
  std::uint32_t* arrived;           // of each tile; 0 before and after
  TileWalk walk;                    // the order, for blocks that have little else to do
};

// What a kernel is given, and which kernel: of which tile, for operands that lie along what.
template <class Kind>
struct MmaLaunch {
  MmaArgs<Kind> args;
  int tile;
  Along a, b;
};

template <class Kind>
MmaLaunch<Kind> launch_of(const typename Kind::Problem& p, const MmaJob& job, const MmaElement& element,
                          const MmaMachine& machine, void* workspace) {
  const MmaFactor &a = job.turned ? job.b : job.a, &b = job.turned ? job.a : job.b;
  const MmaPlan plan = plan_mma(element, a.lines, b.lines, job.k, machine, job.wish);
  auto* const counters = static_cast<std::uint32_t*>(workspace);
  const MmaArgs<Kind> args{.p = p,
                           .a = operand_of<Kind>(a, job.k),
                           .b = operand_of<Kind>(b, job.k),
                           .k = job.k,
                           .turned = job.turned,
                           .order = plan.order,
                           .depth = plan.depth,
                           .split_depth = plan.split_depth,
                           .partial = reinterpret_cast<typename Kind::Sum*>(counters + most_mma_counters),
                           .arrived = counters,
                           .walk = plan.order};
  return {args, plan.tile, along_of(a), along_of(b)};
}

// A lane's, of its warp's tile.
template <class Kind, int row_blocks_, int col_blocks_>
struct MmaSums {
  using Sum = typename Kind::Sum;
  static constexpr int row_blocks = row_blocks_, col_blocks = col_blocks_,
                       count = row_blocks * col_blocks * 8;
  Sum of_half[row_blocks][col_blocks][2][4];

  __device__ __forceinline__ Sum (&of(int i, int j, int half))[4] { return of_half[i][j][half]; }
  __device__ __forceinline__ Sum& at(int i) {
    return of_half[i / (col_blocks * 8)][i / 8 % col_blocks][i / 4 % 2][i % 4];
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i) at(i) = 0;
  }
};

// Adds the sums of all splits of a tile, in their order, if this block is the last to come; whether it is.
template <int threads, class Kind, class Sums>
__device__ __forceinline__ bool join_splits(const MmaArgs<Kind>& args, TileOrder::Tile tile, Sums& sums) {
  const int splits = args.order.splits, me = static_cast<int>(threadIdx.x);
  const std::int64_t place = std::int64_t{tile.row} * args.order.cols + tile.col;
  typename Kind::Sum* const all = args.partial + place * splits * Sums::count * threads + me;
  typename Kind::Sum* const mine = all + std::int64_t{tile.split} * Sums::count * threads;
#pragma unroll
  for (int i = 0; i < Sums::count; ++i) __stcg(mine + i * threads, sums.at(i));
  __threadfence();
  __syncthreads();
  __shared__ bool last;
  if (me == 0) {
    last = atomicInc(args.arrived + place, static_cast<unsigned>(splits) - 1) ==
           static_cast<unsigned>(splits) - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return false;
  sums.clear();
  for (int split = 0; split < splits; ++split)
#pragma unroll
    for (int i = 0; i < Sums::count; ++i)
      sums.at(i) += __ldcg(all + (std::int64_t{split} * Sums::count + i) * threads);
  return true;
}

// A warp's sums to shared memory, in rows of its tile.
template <MmaConfig config, class Sums>
__device__ __forceinline__ void put_down(unsigned char* own, Sums& sums, int lane) {
  using Sum = typename Sums::Sum;
  struct alignas(2 * sizeof(Sum)) Pair {
    Sum first, second;
  };
#pragma unroll
  for (int i = 0; i < Sums::row_blocks; ++i)
#pragma unroll
    for (int j = 0; j < Sums::col_blocks; ++j)
#pragma unroll
      for (int below = 0; below < 2; ++below)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const RowAndCol at = mma_result(lane, half, below);
          const Pair both{sums.of(i, j, half)[2 * below], sums.of(i, j, half)[2 * below + 1]};
          *reinterpret_cast<Pair*>(
              own + mma_result_place<sizeof(Sum), config.warp_cols>(i * 16 + at.row, j * 16 + at.col)) = both;
        }
}

// Rows `first` … below `height` of column `c` of what begins at (row, col) of the operands' product. sum(r,
// c): the sum there.
template <int together, class Kind, class SumAt>
__device__ __forceinline__ void put_rows(const MmaArgs<Kind>& args, std::int64_t row, std::int64_t col,
                                         int first, int height, int c, const SumAt& sum) {
  // All are read before the first is written, which the compiler could not know to be elsewhere.
  typename Kind::Sum value[together] = {};
#pragma unroll
  for (int e = 0; e < together; ++e) {
    const int r = first + e;
    if (r < height)
      value[e] = Kind::concluded(args.p, args.turned ? col + c : row + r, args.turned ? row + r : col + c,
                                 sum(r, c));
  }
#pragma unroll
  for (int e = 0; e < together; ++e) {
    const int r = first + e;
    if (r < height)
      Kind::put(args.p, args.turned ? col + c : row + r, args.turned ? row + r : col + c, value[e]);
  }
}

// The warp's tile, whose first element of C is (row, col).
template <MmaConfig config, class Kind, class Sums>
__device__ __forceinline__ void store_sums(const MmaArgs<Kind>& args, unsigned char* memory, Sums& sums,
                                           std::int64_t row, std::int64_t col, int warp, int lane) {
  using Sum = typename Kind::Sum;
  constexpr int rows = config.warp_rows, cols = config.warp_cols, bytes = sizeof(Sum), together = 32 / bytes;
  unsigned char* const own = memory + warp * (rows * cols * bytes);
  put_down<config>(own, sums, lane);
  __syncwarp();
  const std::int64_t rows_left = args.a.lines - row;
  const int height = rows_left < rows ? static_cast<int>(rows_left) : rows;
  const auto sum = [own](int r, int c) {
    return *reinterpret_cast<const Sum*>(own + mma_result_place<bytes, cols>(r, c));
  };
  for (int c = lane; c < cols && col + c < args.b.lines; c += 32)
    for (int r = 0; r < height; r += together) put_rows<together>(args, row, col, r, height, c, sum);
}

// The block's tile, of which each warp has the sums of one slice: added in the slices' order. `memory`: of
// this slice.
template <MmaConfig config, class Kind, class Sums>
__device__ __forceinline__ void store_slices(const MmaArgs<Kind>& args, unsigned char* memory, int slice,
                                             Sums& sums, std::int64_t row, std::int64_t col, int lane) {
  using Sum = typename Kind::Sum;
  constexpr int rows = config.rows, cols = config.cols, bytes = sizeof(Sum), together = 32 / bytes;
  constexpr int apart = config.slice_bytes(), beside = config.threads() / cols;
  static_assert(rows == config.warp_rows && cols == config.warp_cols && config.threads() % cols == 0);
  put_down<config>(memory, sums, lane);
  const unsigned char* const all = memory - slice * apart;
  __syncthreads();
  const std::int64_t rows_left = args.a.lines - row;
  const int height = rows_left < rows ? static_cast<int>(rows_left) : rows;
  const int me = static_cast<int>(threadIdx.x), c = me % cols;
  if (col + c >= args.b.lines) return;
  const auto sum = [all](int r, int at) {
    const unsigned char* const from = all + mma_result_place<bytes, cols>(r, at);
    Sum out = *reinterpret_cast<const Sum*>(from);
#pragma unroll
    for (int i = 1; i < config.slices; ++i) out += *reinterpret_cast<const Sum*>(from + i * apart);
    return out;
  };
#pragma unroll 2
  for (int r = me / cols * together; r < height; r += beside * together)
    put_rows<together>(args, row, col, r, height, c, sum);
}

}  // namespace tessera::matmul
