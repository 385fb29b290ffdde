// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
__global__ void brighten(int* image, size_t pitch, int w) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x < w) image[y * pitch + x] += 1;
}
int main() {
  const int w = 10, h = 4;
  int a[w * h], *image;
  size_t pitch;
  for (int& x : a) x = 5;
  cudaMallocPitch(&image, &pitch, w * sizeof(int), h);
  cudaMemcpy2D(image, pitch, a, w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice);
  brighten<<<h, 32>>>(image, pitch, w);
  cudaMemcpy2D(a, w * sizeof(int), image, pitch, w * sizeof(int), h, cudaMemcpyDeviceToHost);
  printf("%d\n", a[w * h - 1]);
  cudaFree(image);
}
/* remedies_test
finds 5 error: its pitch counts bytes; row y begins at (char *)image + y * pitch
fix 5: if (x < w) ((int *)((char *)image + y * pitch))[x] += 1;
prints 6
*/
