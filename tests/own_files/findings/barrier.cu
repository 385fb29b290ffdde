// SPDX-License-Identifier: Apache-2.0
// Half of a warp does not come to the barrier.
__global__ void half(int* a) {
  if (threadIdx.x < 16) {
    a[threadIdx.x] = 1;
    __syncthreads();  // finds: barrier
  }
}

int main() {
  int h[16], *a;
  cudaMalloc(&a, sizeof h);
  half<<<1, 32>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
}
