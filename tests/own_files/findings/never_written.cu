// SPDX-License-Identifier: Apache-2.0
// The last element of the output is left out, for pinned memory of the host, too.
__global__ void fill(int* a, int n) {
  const int i = threadIdx.x;
  if (i < n - 1) a[i] = i;
}

int main() {
  int h[32], *pinned, *a;
  cudaMalloc(&a, sizeof h);
  cudaMallocHost(&pinned, sizeof h);
  fill<<<1, 32>>>(a, 32);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);       // finds: never written
  cudaMemcpy(pinned, a, sizeof h, cudaMemcpyDeviceToHost);  // finds: never written
  cudaFree(a);
  cudaFreeHost(pinned);
}
