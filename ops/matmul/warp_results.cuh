// SPDX-License-Identifier: Apache-2.0
// From a thread's sums to C, and parts of sums that several blocks made joined.
#pragma once
#include <cstdint>
#include "matmul.hpp"
#include "tessera/core/thread.hpp"
#include "warp_shares.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

template <class T>
struct WarpArgs {
  Problem<T> p;
  TileOrder order;
  WarpShares shares;
  void* partial = nullptr;           // a room is a block's sums, those of neighbouring threads side by side
  std::uint32_t* arrived = nullptr;  // of each tile that is dealt out; 0 before and after
};

// Leaves a part of a tile's sums in spare memory; if it is the last to come, adds all parts, in their order.
// Whether it is. Sums go one by one: 16 bytes at a time would tie them to registers whose order makes the
// multiply-adds wait for each other.
template <int threads, class T, int m, int n>
__device__ bool join_parts(Thread thread, const WarpArgs<T>& args, const WarpShares::Part& part,
                           T (&sums)[m][n]) {
  constexpr int each = m * n;
  const WarpShares& shares = args.shares;
  const int me = thread.index().x;
  T* const rooms = static_cast<T*>(args.partial) + me;
  T* const mine = rooms + shares.room(thread.block().x - shares.whole, part.tile) * (each * threads);
  SIMT_UNROLL
  for (int i = 0; i < each; ++i) __stcg(mine + i * threads, sums[i / n][i % n]);
  __threadfence();
  thread.sync();
  __shared__ bool last;
  if (me == 0) {
    const auto others = static_cast<unsigned>(part.to - part.from);
    last = atomicInc(args.arrived + (part.tile - shares.whole), others) == others;
    __threadfence();
  }
  thread.sync();
  if (!last) return false;
  SIMT_UNROLL
  for (int i = 0; i < each; ++i) sums[i / n][i % n] = 0;
  for (int share = part.from; share <= part.to; ++share) {
    const T* const other = rooms + shares.room(share, part.tile) * (each * threads);
    SIMT_UNROLL
    for (int i = 0; i < each; ++i) sums[i / n][i % n] += __ldcg(other + i * threads);
  }
  return true;
}

// Whether rows may be read and written 16 bytes at a time.
template <class T>
__device__ bool takes_vectors(const Matrix<T>& matrix) {
  constexpr int vector = 16 / sizeof(T);
  return matrix.stride[1] == 1 && matrix.stride[0] % vector == 0 &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
}

template <class T>
__device__ void store_vector(const Problem<T>& p, std::int64_t row, std::int64_t col, const T* sums) {
  constexpr int vector = 16 / sizeof(T);
  T out[vector], before[vector];
  uint4 words = {};
  if (p.beta != T{0}) words = *reinterpret_cast<const uint4*>(&p.c0(row, col));
  __builtin_memcpy(before, &words, sizeof words);
  SIMT_UNROLL
  for (int e = 0; e < vector; ++e) {
    out[e] = multiply(p.alpha, sums[e]);
    if (p.beta != T{0}) out[e] = multiply_add(p.beta, before[e], out[e]);
  }
  __builtin_memcpy(&words, out, sizeof words);
  *reinterpret_cast<uint4*>(&p.c(row, col)) = words;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
