// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__global__ void sum(int* part, int* out) {
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) part[blockIdx.x] = blockIdx.x;
  __syncthreads();
  if (grid.thread_rank() == 0) {
    int s = 0;
    for (int b = 0; b < gridDim.x; b++) s += part[b];
    *out = s;
  }
}
int main() {
  int *part, *out, h;
  cudaMalloc(&part, 8 * sizeof h);
  cudaMalloc(&out, sizeof h);
  void* arguments[] = {&part, &out};
  cudaLaunchCooperativeKernel((void*)sum, 8, 32, arguments, 0, 0);
  cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\n", h);
  cudaFree(part);
  cudaFree(out);
}
/* remedies_test
finds 7 error: put grid.sync() between line 7 and line 11
fix 8: grid.sync();
prints 28
*/
