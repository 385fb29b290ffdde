// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__device__ int sign(int v) {
  if (v < 0) return -1;
  else if (v > 0) return 1;
}
__global__ void longest(const int* v, int* out, int n) {
  int most, run = 0;
  for (int i = 0; i < n; ++i) {
    run = v[i] > 0 ? run + 1 : 0;
    if (run > most) most = run;
  }
  *out = most * sign(v[0]);
}
int main() {
  int h[8] = {1, 1, 1, 0, 1, 1, 1, 1}, *v, *out, r;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&out, sizeof r);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  longest<<<1, 1>>>(v, out, 8);
  cudaMemcpy(&r, out, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d of %d\n", r, sizeof h / 8.0);
  cudaFree(v);
  cudaFree(out);
}
/* remedies_test
finds 6 warning: return a value at the end of the function
finds 8 warning: give the variable a first value where it is declared
finds 22 warning: let the format fit the arguments
fix 6: return 0; }
fix 8: int most = 0, run = 0;
fix 22: printf("%d of %g\n", r, sizeof h / 8.0);
prints 4 of 4
*/
