// SPDX-License-Identifier: Apache-2.0
// The kernel of rung 13: one warpgroup that asks for copies, waits for them and multiplies.
#pragma once
#include "tensor_tiles.cuh"

namespace tessera::matmul {

// As many threads as multiply: nobody else is here.
inline constexpr int alone_threads = 128;

template <class C>
__global__ void __launch_bounds__(alone_threads, 1) multiply_alone(const __grid_constant__ TensorArgs args) {
  static_assert(C::cluster == 1 && C::consumers == 1);
  extern __shared__ unsigned char raw[];
  const TileShared<C> shared(raw);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < C::stages; ++stage) ptx::init(shared.full(stage), 1);
    ptx::fence_init();
  }
  __syncthreads();
  ptx::wait_for_kernel_before();
  ptx::let_next_kernel_start();
  const TileOrder::Tile tile = args.order.at(static_cast<std::int32_t>(blockIdx.x));
  const int row = tile.row * C::rows, col = tile.col * C::cols, count = args.depth;
  const Sharing<C> sharing(0);
  const auto copy = [&](int i) {
    if (threadIdx.x == 0 && i < count)
      copy_stage<C>(args, shared, i % C::stages, row, col, i * (128 / C::element_bytes), sharing);
  };
  for (int i = 0; i + 1 < C::stages; ++i) copy(i);
  typename C::Sum sum[C::row_blocks][C::sums];
#pragma unroll
  for (int i = 0; i < C::row_blocks * C::sums; ++i) sum[i / C::sums][i % C::sums] = 0;
  Ring<C::stages> ring;
  for (int i = 0; i < count; ++i) {
    copy(i + C::stages - 1);  // over what the last pass has read
    ptx::wait(shared.full(ring.stage), ring.parity);
    multiply_stage<C>(shared, ring.stage, 0, sum, true);
    ptx::wait_for_products<0>();
    __syncthreads();
    ring.advance();
  }
#pragma unroll
  for (int block = 0; block < C::row_blocks; ++block) ptx::touch(sum[block]);
  store_tile<C, C::sums>(args, shared, 0, sum, row, col);
  if (args.boxed && threadIdx.x % 32 == 0) ptx::wait_until_read<0>();
}

}  // namespace tessera::matmul
