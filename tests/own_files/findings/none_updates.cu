// SPDX-License-Identifier: Apache-2.0
// Memory that is set and updated in every way that is right: another block's parts, added up in place by the
// last block; sums after cudaMemset; a counter that is 0 from the start; a constant and a table that the host
// sets; part of an array that is left out and never read.
#include <cstdio>
__constant__ int weight[3];
__constant__ int zero = 0, list[2] = {};
__device__ int table[4], calls;
__device__ unsigned ticket;
__device__ int all_of_blocks[2];

__global__ void sum(const int* v, int* parts, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = 0;
    for (int i = 0; i < 32; ++i) parts[blockIdx.x] += v[blockIdx.x * 32 + i] * weight[i % 3] + zero + list[1];
    __threadfence();
    last = atomicAdd(&ticket, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  for (int s = 4; s > 0; s /= 2) {
    if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *out += parts[0] + table[3];
    calls += 1;
    all_of_blocks[0] += 1;
  }
}

int main() {
  int h[256], w[3] = {1, 1, 1}, t[4] = {}, *v, *parts, *out, *room, r;
  for (int& x : h) x = 1;
  cudaMalloc(&v, sizeof h);
  cudaMalloc(&parts, 8 * sizeof(int));
  cudaMalloc(&out, sizeof r);
  cudaMalloc(&room, 64);
  cudaMemcpy(v, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof r);
  cudaMemcpyToSymbol(weight, w, sizeof w);
  cudaMemcpyToSymbol(table, t, sizeof t);
  sum<<<8, 32>>>(v, parts, out);
  cudaMemcpy(&r, out, sizeof r, cudaMemcpyDeviceToHost);
  int c;
  int* address;
  cudaGetSymbolAddress((void**)&address, calls);
  cudaMemcpy(&c, address, sizeof c, cudaMemcpyDeviceToHost);
  printf("%d %d\n", r, c);
  cudaFree(v);
  cudaFree(parts);
  cudaFree(out);
  cudaFree(room);
}
