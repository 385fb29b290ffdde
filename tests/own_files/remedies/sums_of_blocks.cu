// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void sum(const int* in, int* part, int* out) {
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0) part[b] = in[2 * b] + in[2 * b + 1];
  if (t == 0 && b == 3) *out = part[0] + part[1] + part[2] + part[3];
}
int main() {
  int h[8], *a, *p, *o, r = 0;
  for (int i = 0; i < 8; i++) h[i] = i;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&p, 4 * sizeof(int));
  cudaMalloc(&o, sizeof r);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<4, 32>>>(a, p, o);
  cudaMemcpy(&r, o, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d\n", r);
  cudaFree(a);
  cudaFree(p);
  cudaFree(o);
}
/* remedies_test
finds 5 error: end the kernel between line 5 and line 6, and let a second launch do the rest
fix 5+ }
fix 5+ __global__ void finish(const int* part, int* out) {
fix 6: *out = part[0] + part[1] + part[2] + part[3];
fix 15+ finish<<<1, 1>>>(p, o);
prints 28
*/
