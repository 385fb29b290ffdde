// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void next(int* v, int n) {
  int i = threadIdx.x;
  if (i < n) v[i] += 1;
}
int main() {
  const int n = 60;
  int* h = (int*)malloc(n);
  int *back = new int[n / 2], *v;
  for (int i = 0; i < n; ++i) h[i] = i;
  std::vector<int*> others;
  for (int i = 0; i < 9; ++i) others.push_back((int*)malloc(4));
  cudaMalloc(&v, n * sizeof(int));
  cudaMemcpy(v, h, n * sizeof(int), cudaMemcpyHostToDevice);
  next<<<1, 64>>>(v, n);
  cudaMemcpy(back, v, n * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d\n", back[n - 1]);
  for (int* other : others) free(other);
  cudaFree(v);
  free(h);
  delete[] back;
}
/* remedies_test
finds 11 error: beyond this allocation of 60 bytes: at byte 60
finds 12 error: beyond this allocation of 120 bytes: at byte 120
fix 11: int *h = (int *)malloc(n * sizeof(int));
fix 12: int *back = new int[n], *v;
prints 60
*/
