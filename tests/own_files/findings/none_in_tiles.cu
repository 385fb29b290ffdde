// SPDX-License-Identifier: Apache-2.0
// Sums of tiles of two warps.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void sums(const int* a, int* out) {
  __shared__ cg::block_tile_memory<128> memory;
  const auto block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<64>(block);
  const int sum = cg::reduce(tile, a[block.thread_rank()], cg::plus<int>());
  if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = sum;
}

int main() {
  int h[128], sum[2], *a, *out;
  for (int i = 0; i < 128; ++i) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&out, sizeof sum);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sums<<<1, 128>>>(a, out);
  cudaMemcpy(sum, out, sizeof sum, cudaMemcpyDeviceToHost);
  printf("%d %d\n", sum[0], sum[1]);
  cudaFree(a);
  cudaFree(out);
}
