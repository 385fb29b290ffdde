// SPDX-License-Identifier: Apache-2.0
// Lanes of a tile exchange values of 16 bytes.
#include <cooperative_groups.h>
#include <cstdio>

__global__ void exchange(uint4* out) {
  const auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  const unsigned own = threadIdx.x;
  out[own] = tile.shfl_xor(make_uint4(own, own + 100, own + 200, own + 300), 1);
}

int main() {
  uint4 *d, h[32];
  cudaMalloc(&d, sizeof h);
  exchange<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  int pools = 0;
  cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0);
  printf("%u %u %u %u %d\n", h[0].x, h[31].y, h[5].z, h[4].w, pools);
}
