// SPDX-License-Identifier: Apache-2.0
// Results that wait: a tile's sums, rounded to 16 bits, take half of their registers, so the next tile's products can
// begin before these are stored.
#pragma once
#include "tensor_results.cuh"
#include "tensor_sums.cuh"

namespace tessera::matmul {

// Whether a tile leaves registers for results of the one before.
template <class C>
inline constexpr bool can_wait = !C::promoted && !C::in_turn && !C::joined && C::row_blocks == 1 && C::cols == 256 &&
                                 C::Kind::bytes <= 2 && std::is_same_v<typename C::Sum, float>;

// One consumer's 64 rows of a tile, two neighbours in a register.
template <class C>
struct Waiting {
  static constexpr int pairs_of_box = 16, parts = C::sums / 2 / pairs_of_box;
  std::uint32_t pairs[C::sums / 2];
  int row = 0, col = 0;

  template <class Out>
  __device__ __forceinline__ void round_as(const PlainFactor& factor, const float (&sum)[C::sums]) {
#pragma unroll
    for (int i = 0; i < C::sums / 2; ++i)
      pairs[i] = pair_of(Out{}, factor.of<Out>(sum[2 * i]), factor.of<Out>(sum[2 * i + 1]));
  }
  __device__ __forceinline__ void take(const TensorArgs& args, const float (&sum)[C::sums], int first_row, int first_col) {
    const PlainFactor factor(args.epilogue);
    if (std::is_same_v<typename C::Kind, ptx::F16> || (C::Kind::bytes == 1 && args.out_element == Element::f16))
      round_as<__half>(factor, sum);
    else round_as<__nv_bfloat16>(factor, sum);
    row = first_row;
    col = first_col;
  }

  // 64 columns of it, by way of one of two boxes.
  __device__ __forceinline__ void store(const TensorArgs& args, const TileShared<C>& shared, int consumer, int part) const {
    const int me = fresh_thread() % 128, warp = me / 32, lane = me % 32, r = warp * 16 + lane % 16;
    unsigned char* const box = shared.out(consumer) + part % 2 * C::box_bytes;
    if (lane == 0) ptx::wait_until_read<1>();
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const std::uint32_t* const at = pairs + 2 * (part * 8 + j);
      ptx::store_pieces(box + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, at[0], at[1], at[2], at[3]);
    }
    ptx::fence_shared();
    __syncwarp();
    if (lane != 0) return;
    ptx::store_box(args.c, box + warp * 16 * 128, col + part * 64, row + warp * 16);
    ptx::commit_stores();
  }
  __device__ __forceinline__ void store_all(const TensorArgs& args, const TileShared<C>& shared, int consumer) const {
#pragma unroll
    for (int part = 0; part < parts; ++part) store(args, shared, consumer, part);
  }
};

// As sum_stages, of a tile of as many stages as a result has boxes, at least; the results of the tile before are stored
// beside it.
template <class C>
__device__ __forceinline__ void sum_beside(const TensorArgs& args, const TileShared<C>& shared, Ring<C::stages>& ring, int count,
                                           int row, std::uint32_t givers, int consumer, const Waiting<C>& waiting,
                                           typename C::Sum (&sum)[1][C::sums]) {
  int before = 0;
#pragma unroll
  for (int part = 0; part < Waiting<C>::parts; ++part) {
    ptx::wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, row, sum, part > 0);
    waiting.store(args, shared, consumer, part);
    ptx::wait_for_products<1>();
    if (part > 0) release<C, false>(shared, before, givers);
    before = ring.stage;
    ring.advance();
  }
  add_stages<C, C::cols>(shared, ring, Waiting<C>::parts, count, row, givers, before, sum);
  end_sums<C, C::cols>(shared, before, givers, sum);
}

// As consume, of whole tiles whose results are plain and wait.
template <class C>
__device__ void consume_waiting(const TensorArgs& args, const TileShared<C>& shared, int consumer, std::uint32_t rank) {
  const Sharing<C> sharing(rank);
  const std::uint32_t givers = sharing.of_a() | sharing.of_b();
  const int first_row = consumer * 64;
  Ring<C::stages> ring;
  Waiting<C> waiting;
  bool any = false;
  for (std::int32_t unit = first_unit(C::cluster); unit < args.units; unit += unit_step(C::cluster)) {
    typename C::Sum sum[1][C::sums];
    if (any && args.depth >= Waiting<C>::parts) {
      sum_beside<C>(args, shared, ring, args.depth, first_row, givers, consumer, waiting, sum);
    } else {
      if (any) waiting.store_all(args, shared, consumer);
      if (args.depth <= 0)
#pragma unroll
        for (int i = 0; i < C::sums; ++i) sum[0][i] = 0;
      int before = -1;
      add_stages<C, C::cols>(shared, ring, 0, args.depth, first_row, givers, before, sum);
      end_sums<C, C::cols>(shared, before, givers, sum);
    }
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    waiting.take(args, sum[0], (tile.row * C::cluster_rows + static_cast<int>(sharing.row)) * C::rows + first_row,
                 (tile.col * C::cluster_cols + static_cast<int>(sharing.col)) * C::cols);
    any = true;
  }
  if (any) waiting.store_all(args, shared, consumer);
  if (threadIdx.x % 32 == 0) ptx::wait_until_read<0>();
}

}  // namespace tessera::matmul
