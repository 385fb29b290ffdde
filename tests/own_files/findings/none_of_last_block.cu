// SPDX-License-Identifier: Apache-2.0
// The last block to come adds what the others left, and a lock: an atomic behind a fence orders both.
__device__ unsigned ticket;
__device__ int lock;

__global__ void sum(const int* a, int* part, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = a[blockIdx.x];
    __threadfence();
    last = atomicInc(&ticket, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(out, part[threadIdx.x]);
}

__global__ void count(int* out) {
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence();
  *out += 1;
  __threadfence();
  atomicExch(&lock, 0);
}

int main() {
  int h[16] = {}, *a, *part, *out;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&part, sizeof h);
  cudaMalloc(&out, sizeof *out);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof *out);
  sum<<<16, 32>>>(a, part, out);
  count<<<16, 64>>>(out);
  cudaMemcpy(h, out, sizeof *out, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(part);
  cudaFree(out);
}
