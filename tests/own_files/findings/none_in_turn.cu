// SPDX-License-Identifier: Apache-2.0
// The lanes of a warp take a lock in turn; a string lies beside a constant array.
__device__ const int digits[] = {7, 8, 9};

__global__ void add(int* mutex, int* count) {
  const char* const text = "hello";
  for (int i = 0; i < 32; ++i)
    if (threadIdx.x % 32 == i) {
      while (atomicCAS(mutex, 0, 1) != 0) {
      }
      __threadfence();
      *count = *count + digits[i % 3] + text[i % 5];
      __threadfence();
      atomicExch(mutex, 0);
    }
}

int main() {
  int h, *d;
  cudaMalloc(&d, 2 * sizeof *d);
  cudaMemset(d, 0, 2 * sizeof *d);
  add<<<2, 64>>>(d, d + 1);
  cudaMemcpy(&h, d + 1, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  return h == 0;
}
