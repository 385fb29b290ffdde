// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
__global__ void twice(float *p, size_t pitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  float *row = (float *)((char *)p + y * pitch);
  if (x < w && y < h) row[x] *= 2;
}
int main() {
  const int w = 100, h = 50;
  float *host = (float *)malloc(w * h * sizeof(float)), *d;
  for (int i = 0; i < w * h; ++i) host[i] = 1;
  size_t pitch;
  cudaMallocPitch(&d, &pitch, w * sizeof(float), h);
  cudaMemcpy2D(d, w * sizeof(float), host, w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice);
  twice<<<dim3(1, h), 128>>>(d, pitch, w, h);
  cudaMemcpy2D(host, w * sizeof(float), d, pitch, w * sizeof(float), h, cudaMemcpyDeviceToHost);
  printf("%g %g\n", host[0], host[w * h - 1]);
  cudaFree(d);
  free(host);
}
/* remedies_test
finds 7 error: cudaMemcpy2D at line 15 lays rows 400 bytes apart, and the pitch of d is 512
fix 15: cudaMemcpy2D(d, pitch, host, w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice);
prints 2 2
*/
