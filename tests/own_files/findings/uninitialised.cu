// SPDX-License-Identifier: Apache-2.0
// The input is not copied to the device, and the counter is not set to zero.
__global__ void count(const int* a, int* number) {
  const bool counts = a[threadIdx.x] > 0;  // finds: uninitialised
  atomicAdd(number, counts);               // finds: uninitialised
}

int main() {
  int h = 0, *a, *number;
  cudaMalloc(&a, 32 * sizeof *a);
  cudaMalloc(&number, sizeof *number);
  count<<<1, 32>>>(a, number);
  cudaMemcpy(&h, number, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(number);
}
