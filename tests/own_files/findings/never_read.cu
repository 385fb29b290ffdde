// SPDX-License-Identifier: Apache-2.0
// The result is not copied to the host.
__global__ void fill(int* a) { a[threadIdx.x] = 1; }

int main() {
  int* a;
  cudaMalloc(&a, 32 * sizeof *a);
  fill<<<1, 32>>>(a);  // finds: never read
  cudaDeviceSynchronize();
  cudaFree(a);
}
