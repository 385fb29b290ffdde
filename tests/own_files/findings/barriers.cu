// SPDX-License-Identifier: Apache-2.0
// The halves of a block wait at two barriers.
__global__ void branches() {
  if (threadIdx.x < 32) __syncthreads();  // finds: barrier
  else __syncthreads();
}

int main() {
  branches<<<1, 64>>>();
  cudaDeviceSynchronize();
}
