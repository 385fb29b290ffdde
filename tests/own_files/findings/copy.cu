// SPDX-License-Identifier: Apache-2.0
// A copy in the wrong direction, and one that is too long.
int main() {
  int h[32] = {}, *a;
  cudaMalloc(&a, 16 * sizeof *a);
  cudaMemcpy(a, h, 16 * sizeof *a, cudaMemcpyDeviceToHost);  // finds: copy
  cudaMemcpy(a, h, 32 * sizeof *a, cudaMemcpyHostToDevice);  // finds: copy
  cudaFree(a);
}
