// SPDX-License-Identifier: Apache-2.0
// Sums that several units of work made parts of: added in the parts' order by the last to come.
#pragma once
#include "tensor_results.cuh"

namespace tessera::matmul {

// Leaves a part of a tile's sums in spare memory; if it is the last, adds all parts. Whether it is.
template <class C>
__device__ __forceinline__ bool join_splits(const TensorArgs& args, TileOrder::Tile tile, std::uint32_t rank,
                                            typename C::Sum (&sum)[C::row_blocks][C::sums]) {
  using Sum = typename C::Sum;
  const int splits = args.order.splits, me = fresh_thread() - 128;
  constexpr int barrier = 1 + C::consumers, each = C::row_blocks * C::sums;
  const std::int64_t place = (std::int64_t{tile.row} * args.order.cols + tile.col) * C::cluster + rank;
  Sum* const all = static_cast<Sum*>(args.partial) + place * splits * each * C::workers + me;
  Sum* const mine = all + tile.split * each * C::workers;
#pragma unroll
  for (int i = 0; i < each; ++i) __stcg(mine + i * C::workers, sum[i / C::sums][i % C::sums]);
  __threadfence();
  ptx::synchronize(barrier, C::workers);
  __shared__ int last;
  if (me == 0) {
    last = atomicInc(args.arrived + place, static_cast<unsigned>(splits) - 1) == static_cast<unsigned>(splits) - 1;
    __threadfence();
  }
  ptx::synchronize(barrier, C::workers);
  const bool mine_is_last = last != 0;
  if (mine_is_last) {
#pragma unroll
    for (int i = 0; i < each; ++i) sum[i / C::sums][i % C::sums] = __ldcg(all + i * C::workers);
    for (int split = 1; split < splits; ++split)
#pragma unroll
      for (int i = 0; i < each; ++i) sum[i / C::sums][i % C::sums] += __ldcg(all + (split * each + i) * C::workers);
  }
  ptx::synchronize(barrier, C::workers);  // `last` has been read
  return mine_is_last;
}

}  // namespace tessera::matmul
