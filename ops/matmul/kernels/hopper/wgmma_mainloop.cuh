// SPDX-License-Identifier: Apache-2.0
// The mainloop of the wgmma kernels: stages of tiles are copied into shared memory, shared within a cluster,
// multiplied and summed.
#pragma once
#include "ops/matmul/kernels/hopper/wgmma_args.cuh"
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

// The blocks of a cluster that need the same rows of A, or the same columns of B, as bits; and who of them
// this is.
template <class C>
struct Sharing {
  std::uint32_t row, col;  // of the block in its cluster
  __device__ explicit Sharing(std::uint32_t rank)
      : row(rank % C::cluster_rows), col(rank / C::cluster_rows) {}
  __device__ std::uint16_t of_a() const {
    std::uint32_t out = 0;
#pragma unroll
    for (int i = 0; i < C::cluster_cols; ++i) out |= 1u << (row + i * C::cluster_rows);
    return static_cast<std::uint16_t>(out);
  }
  __device__ std::uint16_t of_b() const {
    return static_cast<std::uint16_t>(((1u << C::cluster_rows) - 1) << (col * C::cluster_rows));
  }
};

// Copies this block's share of a stage of one operand, `lines` rows of A or columns of B from `first` on, to
// all blocks that need it. `layer`: of a map of layers.
template <class C, bool mn_major, int lines, int sharers, class... Layer>
__device__ __forceinline__ void copy_operand(unsigned char* to, const CUtensorMap& map, int first, int k,
                                             int share, std::uint16_t blocks, ptx::Barrier& full,
                                             Layer... layer) {
  constexpr int per_128 = 128 / C::element_bytes, mine = lines / sharers,
                boxes = mn_major ? mine / per_128 : 1;
  to += share * mine * 128;
  first += share * mine;
#pragma unroll
  for (int i = 0; i < boxes; ++i) {
    const int x = mn_major ? first + i * per_128 : k, y = mn_major ? k : first;
    unsigned char* const box = to + i * per_128 * 128;
    if constexpr (sharers == 1) ptx::load_box(box, map, x, y, layer..., full);
    else ptx::load_box_to(blocks, box, map, x, y, layer..., full);
  }
}

template <class C>
__device__ __forceinline__ void copy_stage(const WgmmaArgs& args, const TileShared<C>& shared, int stage,
                                           int row, int col, int k, const Sharing<C>& sharing) {
  ptx::Barrier& full = shared.full(stage);
  ptx::arrive_expecting(full, static_cast<std::uint32_t>(args.a_bytes + C::b_bytes));
  copy_operand<C, C::mn_major_a, C::rows, C::cluster_cols>(
      shared.a(stage), args.a, row, k, static_cast<int>(sharing.col), sharing.of_a(), full);
  copy_operand<C, C::mn_major_b, C::cols, C::cluster_rows>(
      shared.b(stage), args.b, col, k, static_cast<int>(sharing.row), sharing.of_b(), full);
}

// The same for a tail tile, which no other block shares. A box of B may hold more columns than the tile.
template <class C>
__device__ __forceinline__ void copy_tail_stage(const WgmmaArgs& args, const TileShared<C>& shared, int stage,
                                                int row, int col, int k) {
  constexpr int a_lines = C::rows / C::cluster_cols,
                b_lines = C::mn_major_b ? TailOrder::width : C::cols / C::cluster_rows;
  static_assert(b_lines >= TailOrder::width);
  ptx::Barrier& full = shared.full(stage);
  ptx::arrive_expecting(full, static_cast<std::uint32_t>(args.a_bytes + b_lines * 128));
#pragma unroll
  for (int i = 0; i < C::cluster_cols; ++i)
    copy_operand<C, C::mn_major_a, a_lines, 1>(shared.a(stage) + i * a_lines * 128, args.a, row + i * a_lines,
                                               k, 0, 0, full);
  copy_operand<C, C::mn_major_b, b_lines, 1>(shared.b(stage), args.b, col, k, 0, 0, full);
}

// From where to where a split goes, in stages.
__device__ __forceinline__ int first_stage(const WgmmaArgs& args, int split) {
  return split * args.split_depth;
}
__device__ __forceinline__ int stages_of(const WgmmaArgs& args, int split) {
  const int left = args.depth - first_stage(args, split);
  return left < args.split_depth ? left : args.split_depth;
}

// The tail tiles of a unit of work that are this block's, one after the other.
template <class C, class Do>
__device__ __forceinline__ void each_tail_tile(const WgmmaArgs& args, std::int32_t unit, std::uint32_t rank,
                                               const Do& act) {
  const int first_col = args.order.cols * C::cluster_cols * C::cols;
#pragma unroll 1
  for (std::int32_t i = 0; i < args.tail.tall; ++i) {
    const TailOrder::Tile tile =
        args.tail.at(unit - args.tiles, i, C::cluster, static_cast<std::int32_t>(rank));
    if (!tile.exists) return;
    act(tile.row * C::rows, first_col + tile.col * TailOrder::width);
  }
}

// The units of work of this block's cluster of `blocks`.
__device__ __forceinline__ std::int32_t first_unit(int blocks) {
  return static_cast<std::int32_t>(blockIdx.x) / blocks;
}
__device__ __forceinline__ std::int32_t unit_step(int blocks) {
  return static_cast<std::int32_t>(gridDim.x) / blocks;
}
template <class C>
__device__ __forceinline__ int cluster_blocks(const WgmmaArgs& args) {
  return C::cluster_split_k ? args.cluster_splits : C::cluster;
}
// Which part of a tile's sums this block makes.
template <class C>
__device__ __forceinline__ int part_of(TileOrder::Tile tile, std::uint32_t rank) {
  return C::cluster_split_k ? static_cast<int>(rank) : tile.split;
}

inline constexpr int steps_of_stage = 4;  // of 32 bytes of k

// Tells those who copy to this block that a stage has been read; `alone`: that is this block, for all of
// them.
template <class C, bool alone>
__device__ __forceinline__ void release(const TileShared<C>& shared, int stage, std::uint32_t peers) {
  const int me = static_cast<int>(threadIdx.x) % 128;
  if constexpr (C::cluster == 1 || alone) {
    if (me < C::cluster_rows + C::cluster_cols - 1) ptx::arrive(shared.empty(stage));
  } else {
    if (me < C::cluster && (peers >> me & 1) != 0)
      ptx::arrive_at(shared.empty(stage), static_cast<std::uint32_t>(me));
  }
}

// What a consumer multiplies of a stage: 64 rows, from row `row` of the tile on.
template <class C, int cols>
__device__ __forceinline__ void multiply_rows(const TileShared<C>& shared, int stage, int row,
                                              typename C::Sum (&sum)[cols / 2], int step, bool keep) {
  using Product = ptx::Product<typename C::Kind, cols, C::mn_major_a, C::mn_major_b>;
  constexpr int per_128 = 128 / C::element_bytes, k_of_step = per_128 / steps_of_stage;
  const unsigned char *const a = shared.a(stage), *const b = shared.b(stage);
  const std::uint64_t right = C::mn_major_b ? ptx::operand(b + step * k_of_step * 128, 1024, per_128 * 128)
                                            : ptx::operand(b + step * 32, 1024, 0);
  const std::uint64_t left = C::mn_major_a
                                 ? ptx::operand(a + row * 128 + step * k_of_step * 128, 1024, per_128 * 128)
                                 : ptx::operand(a + row * 128 + step * 32, 1024, 0);
  Product::add(sum, left, right, keep ? 1 : 0);
}

// All of them, from row `row` on: one group of products, under way when this returns.
template <class C, int cols = C::cols>
__device__ __forceinline__ void multiply_stage(const TileShared<C>& shared, int stage, int row,
                                               typename C::Sum (&sum)[C::row_blocks][cols / 2], bool keep) {
  ptx::begin_products();
#pragma unroll
  for (int step = 0; step < steps_of_stage; ++step)
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block)
      multiply_rows<C, cols>(shared, stage, row + block * 64, sum[block], step, keep || step > 0);
  ptx::commit_products();
}

// Consumers that take tiles in turn begin a tile when the one before has asked for all its products. (A
// barrier tells a phase from the next one alone: who skips another's stages must not begin before they have
// come.)
template <class C>
struct PingPong {
  const TileShared<C>& shared;
  int consumer;
  int taken = 0;

  __device__ __forceinline__ void wait() {
    if constexpr (C::ping_pong) {
      // The first consumer's first turn has come before anybody gave it.
      ptx::wait(shared.turn(consumer), static_cast<std::uint32_t>(consumer == 0 ? taken + 1 : taken) & 1);
      ++taken;
    }
  }
  __device__ __forceinline__ void pass() const {
    if constexpr (C::ping_pong)
      if (threadIdx.x % 128 == 0) ptx::arrive(shared.turn((consumer + 1) % C::consumers));
  }
};

// Adds the products of stages `from` to `count` of a tile to each other in the tensor cores' own registers.
// `before`: the stage whose products may still be under way, or -1.
template <class C, int cols>
__device__ __forceinline__ void add_stages(const TileShared<C>& shared, Ring<C::stages>& ring, int from,
                                           int count, int row, std::uint32_t peers, int& before,
                                           typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  for (int i = from; i < count; ++i) {
    ptx::wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C, cols>(shared, ring.stage, row, sum, i > 0);
    ptx::wait_for_products<1>();
    if (before >= 0) release<C, cols != C::cols>(shared, before, peers);
    before = ring.stage;
    ring.advance();
  }
}

template <class C, int cols>
__device__ __forceinline__ void end_sums(const TileShared<C>& shared, int before, std::uint32_t peers,
                                         typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  ptx::wait_for_products<0>();
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) ptx::touch(sum[block]);
  if (before >= 0) release<C, cols != C::cols>(shared, before, peers);
}

// Of a whole tile.
template <class C, int cols>
__device__ __forceinline__ void sum_stages(const TileShared<C>& shared, Ring<C::stages>& ring, int count,
                                           int row, std::uint32_t peers, const PingPong<C>& turns,
                                           typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  int before = -1;
  add_stages<C, cols>(shared, ring, 0, count, row, peers, before, sum);
  turns.pass();
  end_sums<C, cols>(shared, before, peers, sum);
}

// Sums each stage by itself, as the tensor cores do it, and adds that in f32. While one consumer adds, the
// others multiply.
template <class C, int cols>
__device__ __forceinline__ void promote_stages(const TileShared<C>& shared, Ring<C::stages>& ring, int count,
                                               int row, std::uint32_t peers, const PingPong<C>& turns,
                                               typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  typename C::Sum part[cols / 2] = {};  // else its registers would count as in use before
  for (int i = 0; i < count; ++i) {
    ptx::wait(shared.full(ring.stage), ring.parity);
#pragma unroll
    for (int block = 0; block < C::row_blocks; ++block) {
      ptx::begin_products();
#pragma unroll
      for (int step = 0; step < steps_of_stage; ++step)
        multiply_rows<C, cols>(shared, ring.stage, row + block * 64, part, step, step > 0);
      ptx::commit_products();
      ptx::wait_for_products<0>();
      ptx::touch(part);
      if (block + 1 == C::row_blocks) release<C, cols != C::cols>(shared, ring.stage, peers);
#pragma unroll
      for (int j = 0; j < cols / 2; ++j) sum[block][j] += part[j];
    }
    ring.advance();
  }
  turns.pass();
}

// Sums of `count` stages; all of them 0 first, lest their registers count as in use before: there are none to
// spare.
template <class C, int cols>
__device__ __forceinline__ void sum_up(const TileShared<C>& shared, Ring<C::stages>& ring, int count, int row,
                                       std::uint32_t peers, const PingPong<C>& turns,
                                       typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  constexpr int sums = cols / 2;
  if (count <= 0 || C::promoted || C::row_blocks > 1)
#pragma unroll
    for (int i = 0; i < C::row_blocks * sums; ++i) sum[i / sums][i % sums] = 0;
  if constexpr (C::promoted) promote_stages<C, cols>(shared, ring, count, row, peers, turns, sum);
  else sum_stages<C, cols>(shared, ring, count, row, peers, turns, sum);
}

}  // namespace tessera::matmul
