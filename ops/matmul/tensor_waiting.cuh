// SPDX-License-Identifier: Apache-2.0
// Results that wait: a tile's sums, rounded to 16 bits, take half of their registers, so the next tile's
// products begin before they are stored.
#pragma once
#include "tensor_results.cuh"
#include "tensor_sums.cuh"

namespace tessera::matmul {

// Whether a tile leaves registers for results of the one before.
template <class C>
inline constexpr bool can_wait =
    !C::promoted && !C::in_turn && !C::joined && C::row_blocks == 1 && C::cols == 256 &&
    C::Kind::bytes <= 2 && std::is_same_v<typename C::Sum, float>;

// One consumer's 64 rows of a tile, two neighbours in a register.
template <class C>
struct Waiting {
  static constexpr int parts = C::sums / 32;  // boxes of 64 columns
  static_assert(parts == 4);                  // as least_waiting_depth has it
  std::uint32_t pairs[C::sums / 2];
  int row = 0, col = 0;

  template <class Out>
  __device__ __forceinline__ void round_as(float factor, const float (&sum)[C::sums]) {
    if (factor == 1) {
#pragma unroll
      for (int i = 0; i < C::sums / 2; ++i) pairs[i] = pair_of(Out{}, sum[2 * i], sum[2 * i + 1]);
    } else {
#pragma unroll
      for (int i = 0; i < C::sums / 2; ++i)
        pairs[i] = pair_of(Out{}, factor * sum[2 * i], factor * sum[2 * i + 1]);
    }
  }
  __device__ __forceinline__ void round(const TensorArgs& args, float factor, const float (&sum)[C::sums]) {
    if (args.out_element == Element::f16) round_as<__half>(factor, sum);
    else round_as<__nv_bfloat16>(factor, sum);
  }

  // 64 columns of it, by way of a box.
  __device__ __forceinline__ void fill(unsigned char* box, int part) const {
    const int me = fresh_thread() % 128, lane = me % 32, r = me / 32 * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const std::uint32_t* const at = pairs + 2 * (part * 8 + j);
      ptx::store_pieces(box + r * 128 + ((j + lane / 16) ^ (r % 8)) * 16, at[0], at[1], at[2], at[3]);
    }
  }
  __device__ __forceinline__ void send(const TensorArgs& args, const unsigned char* box, int part) const {
    const int warp = fresh_thread() % 128 / 32;
    ptx::store_box(args.c, box + warp * 16 * 128, col + part * 64, row + warp * 16);
    ptx::commit_stores();
  }

  // Two boxes in turn: one is filled while the copy engine may still read the other.
  __device__ __forceinline__ void store(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                        int part) const {
    unsigned char* const box = shared.out(consumer) + part % 2 * C::box_bytes;
    const bool first = fresh_thread() % 32 == 0;
    if (first) ptx::wait_until_read<1>();
    __syncwarp();
    fill(box, part);
    ptx::fence_shared();
    __syncwarp();
    if (first) send(args, box, part);
  }

  // Of a block's last tile: this consumer's rows of A's stages are boxes enough, for nobody needs them any
  // more.
  __device__ __forceinline__ void store_last(const TensorArgs& args, const TileShared<C>& shared,
                                             int consumer) const {
    static_assert(parts <= C::stages && C::cluster_cols == 1 && C::a_bytes == C::consumers * C::box_bytes);
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      unsigned char* const box = shared.a(part) + consumer * C::box_bytes;
      fill(box, part);
      ptx::fence_shared();
      __syncwarp();
      if (fresh_thread() % 32 == 0) send(args, box, part);
    }
  }
};

// As consume, of whole tiles whose results are plain and wait. `boxes` of them are stored beside a stage.
template <class C, int boxes>
__device__ void consume_waiting(const TensorArgs& args, const TileShared<C>& shared, int consumer,
                                std::uint32_t rank) {
  const Sharing<C> sharing(rank);
  const std::uint32_t givers = sharing.of_a() | sharing.of_b();
  const int first_row = consumer * 64;
  const float factor = PlainFactor(args.epilogue).real;
  std::int32_t unit = first_unit(C::cluster);
  if (unit >= args.units) return;

  Ring<C::stages> ring;
  Waiting<C> waiting;
  typename C::Sum sum[1][C::sums];
  ptx::wait(shared.full(ring.stage), ring.parity);
  multiply_stage<C>(shared, ring.stage, first_row, sum, false);
  bool any = false;
  while (true) {
    // The tile's first stage is under way.
    int before = ring.stage;
    ring.advance();
#pragma unroll
    for (int part = 0; part < Waiting<C>::parts; part += boxes) {
      ptx::wait(shared.full(ring.stage), ring.parity);
      multiply_stage<C>(shared, ring.stage, first_row, sum, true);
      if (any) {
#pragma unroll
        for (int box = 0; box < boxes; ++box) waiting.store(args, shared, consumer, part + box);
      }
      ptx::wait_for_products<1>();
      release<C, false>(shared, before, givers);
      before = ring.stage;
      ring.advance();
    }
    add_stages<C, C::cols>(shared, ring, 1 + Waiting<C>::parts / boxes, args.depth - 1, first_row, givers,
                           before, sum);

    ptx::wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, first_row, sum, true);
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    waiting.row = (tile.row * C::cluster_rows + static_cast<int>(sharing.row)) * C::rows + first_row;
    waiting.col = (tile.col * C::cluster_cols + static_cast<int>(sharing.col)) * C::cols;
    any = true;
    ptx::wait_for_products<1>();
    release<C, false>(shared, before, givers);
    before = ring.stage;
    ring.advance();
    ptx::wait_for_products<0>();
    ptx::touch(sum[0]);
    release<C, false>(shared, before, givers);
    waiting.round(args, factor, sum[0]);

    unit += unit_step(C::cluster);
    if (unit >= args.units) break;
    ptx::wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, first_row, sum, false);
  }
  waiting.store_last(args, shared, consumer);
  if (threadIdx.x % 32 == 0) ptx::wait_until_read<0>();
}

}  // namespace tessera::matmul
