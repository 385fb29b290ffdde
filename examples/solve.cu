// SPDX-License-Identifier: Apache-2.0
// A function without a main(), as exercises on web pages ask for it: `tessera run --call` calls it.
__global__ void add(const float* A, const float* B, float* C, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) C[i] = A[i] + B[i];
}

// The arrays are in device memory.
extern "C" void solve(const float* A, const float* B, float* C, int N) {
  const int threads = 256;
  add<<<(N + threads - 1) / threads, threads>>>(A, B, C, N);
  cudaDeviceSynchronize();
}
