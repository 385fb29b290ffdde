// SPDX-License-Identifier: Apache-2.0
// Bins that are filled by atomics and read without a barrier.
__global__ void bins(int* out) {
  __shared__ int bin[64];
  bin[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bin[63 - threadIdx.x], 1);  // finds: race
  out[threadIdx.x] = bin[threadIdx.x];
}

int main() {
  int h[64], *d;
  cudaMalloc(&d, sizeof h);
  bins<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
}
