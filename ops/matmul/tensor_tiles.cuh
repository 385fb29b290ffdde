// SPDX-License-Identifier: Apache-2.0
// The kernel of the tensor core rungs: tiles of C by warpgroups, fed by the copy engine.
//
// One warpgroup copies, the others multiply; between them a ring of stages in shared memory. Blocks stay and take
// tile after tile, so the next tile's stages arrive while the last one's results are written. The blocks of a
// cluster copy each other what they share of A or B.
#pragma once
#include "tensor_splits.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

// The blocks of a cluster that need the same rows of A, or the same columns of B, as bits; and who of them this is.
template <class C>
struct Sharing {
  std::uint32_t row, col;  // of the block in its cluster
  __device__ explicit Sharing(std::uint32_t rank) : row(rank % C::cluster_rows), col(rank / C::cluster_rows) {}
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

// Copies this block's share of a stage of one operand, `lines` rows of A or columns of B from `first` on, to all
// blocks that need it. `layer`: of a map of layers.
template <class C, bool turned, int lines, int sharers, class... Layer>
__device__ __forceinline__ void copy_operand(unsigned char* to, const CUtensorMap& map, int first, int k, int share,
                                             std::uint16_t blocks, ptx::Barrier& full, Layer... layer) {
  constexpr int per_128 = 128 / C::element_bytes, mine = lines / sharers, boxes = turned ? mine / per_128 : 1;
  to += share * mine * 128;
  first += share * mine;
#pragma unroll
  for (int i = 0; i < boxes; ++i) {
    const int x = turned ? first + i * per_128 : k, y = turned ? k : first;
    unsigned char* const box = to + i * per_128 * 128;
    if constexpr (sharers == 1) ptx::load_box(box, map, x, y, layer..., full);
    else ptx::load_box_to(blocks, box, map, x, y, layer..., full);
  }
}

template <class C>
__device__ __forceinline__ void copy_stage(const TensorArgs& args, const TileShared<C>& shared, int stage, int row,
                                           int col, int k, const Sharing<C>& sharing) {
  ptx::Barrier& full = shared.full(stage);
  ptx::arrive_expecting(full, static_cast<std::uint32_t>(args.a_bytes + C::b_bytes));
  copy_operand<C, C::turn_a, C::rows, C::cluster_cols>(shared.a(stage), args.a, row, k, static_cast<int>(sharing.col),
                                                       sharing.of_a(), full);
  copy_operand<C, C::turn_b, C::cols, C::cluster_rows>(shared.b(stage), args.b, col, k, static_cast<int>(sharing.row),
                                                       sharing.of_b(), full);
}

// The same of a piece of a strip, which no other block shares. A box of B may hold more columns than the strip.
template <class C>
__device__ __forceinline__ void copy_piece_stage(const TensorArgs& args, const TileShared<C>& shared, int stage, int row,
                                                 int col, int k) {
  constexpr int a_lines = C::rows / C::cluster_cols, b_lines = C::turn_b ? StripOrder::cols : C::cols / C::cluster_rows;
  static_assert(b_lines >= StripOrder::cols);
  ptx::Barrier& full = shared.full(stage);
  ptx::arrive_expecting(full, static_cast<std::uint32_t>(args.a_bytes + b_lines * 128));
#pragma unroll
  for (int i = 0; i < C::cluster_cols; ++i)
    copy_operand<C, C::turn_a, a_lines, 1>(shared.a(stage) + i * a_lines * 128, args.a, row + i * a_lines, k, 0, 0, full);
  copy_operand<C, C::turn_b, b_lines, 1>(shared.b(stage), args.b, col, k, 0, 0, full);
}

// From where to where a split goes, in stages.
__device__ __forceinline__ int first_stage(const TensorArgs& args, int split) { return split * args.split_depth; }
__device__ __forceinline__ int stages_of(const TensorArgs& args, int split) {
  const int left = args.depth - first_stage(args, split);
  return left < args.split_depth ? left : args.split_depth;
}

// A block's pieces of a unit of strips, one after the other.
template <class C, class Do>
__device__ __forceinline__ void each_piece(const TensorArgs& args, std::int32_t unit, std::uint32_t rank, const Do& act) {
  const int first_col = args.order.cols * C::cluster_cols * C::cols;
#pragma unroll 1
  for (std::int32_t i = 0; i < args.strips.tall; ++i) {
    const StripOrder::Piece piece =
        args.strips.at(unit - args.tiles, i, C::cluster, static_cast<std::int32_t>(rank));
    if (!piece.there) return;
    act(piece.line * C::rows, first_col + piece.strip * StripOrder::cols);
  }
}

// The units of work of this block's cluster of `blocks`.
__device__ __forceinline__ std::int32_t first_unit(int blocks) { return static_cast<std::int32_t>(blockIdx.x) / blocks; }
__device__ __forceinline__ std::int32_t unit_step(int blocks) { return static_cast<std::int32_t>(gridDim.x) / blocks; }
template <class C>
__device__ __forceinline__ int cluster_blocks(const TensorArgs& args) {
  return C::joined ? args.together : C::cluster;
}
// Which part of a tile's sums this block makes.
template <class C>
__device__ __forceinline__ int part_of(TileOrder::Tile tile, std::uint32_t rank) {
  return C::joined ? static_cast<int>(rank) : tile.split;
}

inline constexpr int steps_of_stage = 4;  // of 32 bytes of k

// Tells those who copy to this block that a stage has been read; `alone`: that is this block, for all of them.
template <class C, bool alone>
__device__ __forceinline__ void release(const TileShared<C>& shared, int stage, std::uint32_t givers) {
  const int me = static_cast<int>(threadIdx.x) % 128;
  if constexpr (C::cluster == 1 || alone) {
    if (me < C::cluster_rows + C::cluster_cols - 1) ptx::arrive(shared.empty(stage));
  } else {
    if (me < C::cluster && (givers >> me & 1) != 0) ptx::arrive_at(shared.empty(stage), static_cast<std::uint32_t>(me));
  }
}

// What a consumer multiplies of a stage: 64 rows, from row `row` of the tile on.
template <class C, int cols>
__device__ __forceinline__ void multiply_rows(const TileShared<C>& shared, int stage, int row,
                                              typename C::Sum (&sum)[cols / 2], int step, bool keep) {
  using Product = ptx::Product<typename C::Kind, cols, C::turn_a, C::turn_b>;
  constexpr int per_128 = 128 / C::element_bytes, k_of_step = per_128 / steps_of_stage;
  const unsigned char *const a = shared.a(stage), *const b = shared.b(stage);
  const std::uint64_t right = C::turn_b ? ptx::operand(b + step * k_of_step * 128, 1024, per_128 * 128)
                                        : ptx::operand(b + step * 32, 1024, 0);
  const std::uint64_t left = C::turn_a ? ptx::operand(a + row * 128 + step * k_of_step * 128, 1024, per_128 * 128)
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

// Consumers that take tiles in turn begin a tile when the one before has asked for all its products. (A barrier tells a
// phase from the next one alone: who skips another's stages must not begin before they have come.)
template <class C>
struct Turns {
  const TileShared<C>& shared;
  int consumer;
  int taken = 0;

  __device__ __forceinline__ void take() {
    if constexpr (C::in_turn) {
      // The first consumer's first turn has come before anybody gave it.
      ptx::wait(shared.turn(consumer), static_cast<std::uint32_t>(consumer == 0 ? taken + 1 : taken) & 1);
      ++taken;
    }
  }
  __device__ __forceinline__ void give() const {
    if constexpr (C::in_turn)
      if (threadIdx.x % 128 == 0) ptx::arrive(shared.turn((consumer + 1) % C::consumers));
  }
};

// Adds the products of a tile's stages to each other in the tensor cores' own registers.
template <class C, int cols>
__device__ __forceinline__ void sum_stages(const TileShared<C>& shared, Ring<C::stages>& ring, int count, int row,
                                           std::uint32_t givers, const Turns<C>& turns,
                                           typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  int before = -1;  // the stage whose products may still be under way
  for (int i = 0; i < count; ++i) {
    ptx::wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C, cols>(shared, ring.stage, row, sum, i > 0);
    ptx::wait_for_products<1>();
    if (before >= 0) release<C, cols != C::cols>(shared, before, givers);
    before = ring.stage;
    ring.advance();
  }
  turns.give();
  ptx::wait_for_products<0>();
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) ptx::touch(sum[block]);
  if (before >= 0) release<C, cols != C::cols>(shared, before, givers);
}

// Sums each stage by itself, as the tensor cores do it, and adds that in f32. While one consumer adds, the others
// multiply.
template <class C, int cols>
__device__ __forceinline__ void promote_stages(const TileShared<C>& shared, Ring<C::stages>& ring, int count, int row,
                                               std::uint32_t givers, const Turns<C>& turns,
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
      if (block + 1 == C::row_blocks) release<C, cols != C::cols>(shared, ring.stage, givers);
#pragma unroll
      for (int j = 0; j < cols / 2; ++j) sum[block][j] += part[j];
    }
    ring.advance();
  }
  turns.give();
}

template <class C>
__device__ void produce(const TensorArgs& args, const TileShared<C>& shared, std::uint32_t rank) {
  const Sharing<C> sharing(C::joined ? 0 : rank);
  Ring<C::stages> ring;
  constexpr int k_of_stage = 128 / C::element_bytes;
  const int blocks = cluster_blocks<C>(args);
  for (std::int32_t unit = first_unit(blocks); unit < args.units; unit += unit_step(blocks)) {
    if constexpr (C::strips) {
      if (unit >= args.tiles) {
        each_piece<C>(args, unit, rank, [&](int row, int col) {
          for (int i = 0; i < args.depth; ++i) {
            ptx::wait(shared.empty(ring.stage), ring.parity ^ 1);
            copy_piece_stage<C>(args, shared, ring.stage, row, col, i * k_of_stage);
            ring.advance();
          }
        });
        continue;
      }
    }
    const TileOrder::Tile tile = args.order.at(unit);
    const int row = (tile.row * C::cluster_rows + static_cast<int>(sharing.row)) * C::rows,
              col = (tile.col * C::cluster_cols + static_cast<int>(sharing.col)) * C::cols;
    const int part = part_of<C>(tile, rank), first = first_stage(args, part), count = stages_of(args, part);
    for (int i = 0; i < count; ++i) {
      ptx::wait(shared.empty(ring.stage), ring.parity ^ 1);
      copy_stage<C>(args, shared, ring.stage, row, col, (first + i) * k_of_stage, sharing);
      ring.advance();
    }
  }
}

// Sums of `count` stages; all of them 0 first, lest their registers count as in use before: there are none to spare.
template <class C, int cols>
__device__ __forceinline__ void sum_up(const TileShared<C>& shared, Ring<C::stages>& ring, int count, int row,
                                       std::uint32_t givers, const Turns<C>& turns,
                                       typename C::Sum (&sum)[C::row_blocks][cols / 2]) {
  constexpr int sums = cols / 2;
  if (count <= 0 || C::promoted || C::row_blocks > 1)
#pragma unroll
    for (int i = 0; i < C::row_blocks * sums; ++i) sum[i / sums][i % sums] = 0;
  if constexpr (C::promoted) promote_stages<C, cols>(shared, ring, count, row, givers, turns, sum);
  else sum_stages<C, cols>(shared, ring, count, row, givers, turns, sum);
}

template <class C>
__device__ void consume(const TensorArgs& args, const TileShared<C>& shared, int consumer, std::uint32_t rank) {
  const Sharing<C> sharing(C::joined ? 0 : rank);
  const std::uint32_t givers = sharing.of_a() | sharing.of_b();  // who copies to this block
  const int first_row = C::in_turn ? 0 : consumer * C::row_blocks * 64;
  Ring<C::stages> ring;
  Turns<C> turns{shared, consumer};
  int turn = 0;
  const int blocks = cluster_blocks<C>(args);
  for (std::int32_t unit = first_unit(blocks); unit < args.units; unit += unit_step(blocks)) {
    if constexpr (C::strips) {
      if (unit >= args.tiles) {
        each_piece<C>(args, unit, rank, [&](int row, int col) {
          typename C::Sum sum[C::row_blocks][StripOrder::cols / 2];
          sum_up<C, StripOrder::cols>(shared, ring, args.depth, first_row, givers, turns, sum);
          store_tile<C, StripOrder::cols / 2>(args, shared, consumer, sum, row + first_row, col);
        });
        continue;
      }
    }
    const int count = stages_of(args, part_of<C>(args.order.at(unit), rank));
    if constexpr (C::in_turn) {
      if (turn++ % C::consumers != consumer) {
        ring.skip(count);
        continue;
      }
    }
    turns.take();
    typename C::Sum sum[C::row_blocks][C::sums];
    sum_up<C, C::cols>(shared, ring, count, first_row, givers, turns, sum);
    // Computed afresh: the products leave no register for what is needed only now.
    const TileOrder::Tile tile = args.order.at(ptx::opaque(unit));
    const int row = (tile.row * C::cluster_rows + static_cast<int>(sharing.row)) * C::rows + first_row,
              col = (tile.col * C::cluster_cols + static_cast<int>(sharing.col)) * C::cols;
    if constexpr (C::joined) {
      if (args.together == 1) store_tile<C, C::sums>(args, shared, consumer, sum, row, col);
      else join_parts<C>(args, shared, rank, consumer, sum, row - first_row, col);
      continue;
    }
    if (args.order.splits > 1) join_splits<C>(args, shared, tile, rank, consumer, sum, row, col);
    else store_tile<C, C::sums>(args, shared, consumer, sum, row, col);
  }
  if (args.boxed && threadIdx.x % 32 == 0) ptx::wait_until_read<0>();
}

// A block's life. `meets`: whether the blocks of a cluster share the sums of their one tile. `begin` is called by one thread, before anything that the kernel before wrote may be read;
// `copies(shared, rank)` by one, `multiplies(shared, consumer, rank)` by warpgroups.
template <class C, class Begin, class Copies, class Multiplies>
__device__ __forceinline__ void work_in_roles(unsigned char* raw, const Begin& begin, const Copies& copies,
                                              const Multiplies& multiplies, bool meets = false) {
  const TileShared<C> shared(raw);
  const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  const std::uint32_t rank = C::cluster == 1 && !C::joined ? 0 : ptx::rank_in_cluster();
  if (threadIdx.x == 0) {
    begin();
    for (int stage = 0; stage < C::stages; ++stage) {
      ptx::init(shared.full(stage), 1);
      ptx::init(shared.empty(stage), C::sharers * (C::cluster_rows + C::cluster_cols - 1));
    }
    if constexpr (C::in_turn)
      for (int consumer = 0; consumer < C::consumers; ++consumer) ptx::init(shared.turn(consumer), 1);
    ptx::fence_init();
  }
  if constexpr (C::cluster == 1) __syncthreads();
  else ptx::synchronize_cluster();
  // What follows touches the arrays; all before it may happen while the kernel before is still at work.
  ptx::wait_for_kernel_before();
  ptx::let_next_kernel_start();
  if (group == 0) {
    ptx::keep_registers<C::consumers == 1 ? 56 : C::consumers == 2 ? 40 : 32>();
    if (threadIdx.x < 32 && ptx::elected()) copies(shared, rank);
    __syncwarp();
    if (C::joined && meets) ptx::synchronize_cluster();  // as those who multiply do it once
  } else {
    ptx::take_registers<C::consumers == 1 ? 248 : C::consumers == 2 ? 232 : 160>();
    multiplies(shared, group - 1, rank);
  }
  // A block stays while the other one of its cluster may still tell it something.
  if (C::cluster > 1 || (C::joined && meets)) ptx::synchronize_cluster();
}

template <class C>
__global__ void __launch_bounds__(C::threads, 1) multiply_tiles(const __grid_constant__ TensorArgs args) {
  extern __shared__ unsigned char raw[];
  work_in_roles<C>(
      raw,
      [&] {
        if (args.depth <= 0) return;
        ptx::prefetch(args.a);
        ptx::prefetch(args.b);
      },
      [&](const TileShared<C>& shared, std::uint32_t rank) { produce<C>(args, shared, rank); },
      [&](const TileShared<C>& shared, int consumer, std::uint32_t rank) { consume<C>(args, shared, consumer, rank); },
      args.together > 1);
}

}  // namespace tessera::matmul
