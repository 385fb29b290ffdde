// SPDX-License-Identifier: Apache-2.0
// A guard that is off by one, and a halo for which the shared array has no room.
__global__ void shift(int* a, int n) {
  __shared__ int tile[32];
  const int i = threadIdx.x;
  if (i < n) tile[i + 1] = a[i];  // finds: out of bounds
  __syncthreads();
  if (i <= n && i > 0) a[i] = tile[i];  // finds: out of bounds
}

int main() {
  int h[32] = {}, *a;
  cudaMalloc(&a, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  shift<<<1, 64>>>(a, 32);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
}
