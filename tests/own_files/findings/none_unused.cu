// SPDX-License-Identifier: Apache-2.0
// Lanes read what nothing has set, and the values are not used: of shared memory, and the end of an array
// that is rounded up to whole blocks.
#include <cstdio>
__global__ void sum(const float* in, float* out, int n) {
  __shared__ float part[32];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += 0.1f * in[i];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
  if (lane == 0) part[warp] = s;
  __syncthreads();
  if (warp != 0) return;
  s = part[lane];
  for (int d = 1; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
  if (lane == 0) atomicAdd(out, s);
}

__global__ void odd_ones(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
  const unsigned odd = __ballot_sync(0xffffffff, i < n && value % 2 == 1);
  if (threadIdx.x == 0) out[blockIdx.x] = __popc(odd);
}

int main() {
  static float h[5000];
  static int k[100];
  float *d, *o, r;
  int *v, *c, counts[4];
  for (float& x : h) x = 1;
  for (int i = 0; i < 100; ++i) k[i] = i;
  cudaMalloc(&d, sizeof h);
  cudaMalloc(&o, sizeof r);
  cudaMalloc(&v, 128 * sizeof(int));
  cudaMalloc(&c, sizeof counts);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(v, k, sizeof k, cudaMemcpyHostToDevice);
  for (int i = 0; i < 3; ++i) {
    cudaMemset(o, 0, sizeof r);
    sum<<<7, 64>>>(d, o, 5000 - i);
    cudaMemcpy(&r, o, sizeof r, cudaMemcpyDeviceToHost);
  }
  odd_ones<<<4, 32>>>(v, c, 100);
  cudaMemcpy(counts, c, sizeof counts, cudaMemcpyDeviceToHost);
  printf("%g %d\n", r, counts[3]);
  cudaFree(d);
  cudaFree(o);
  cudaFree(v);
  cudaFree(c);
}
