// SPDX-License-Identifier: Apache-2.0
// The fourth launch has a race that the first has not, in a block that a sample of blocks misses.
__global__ void add(int* values, int racing) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += 1;
  if (racing != 0 && blockIdx.x == 701) values[0] = threadIdx.x;
}

int main() {
  int* values = nullptr;
  cudaMalloc(&values, 1000 * 32 * sizeof(int));
  cudaMemset(values, 0, 1000 * 32 * sizeof(int));
  for (int launch = 1; launch <= 4; ++launch) add<<<1000, 32>>>(values, launch == 4);
  cudaDeviceSynchronize();
  cudaFree(values);
}
