// SPDX-License-Identifier: Apache-2.0
// A block's sum as it should be: threads of whole warps may return before a shuffle of others.
__global__ void sum(const int* a, int* out, int n) {
  __shared__ int part[64];
  const int i = threadIdx.x;
  part[i] = i < n ? a[i] : 0;
  __syncthreads();
  if (i >= 32) return;
  int own = part[i] + part[i + 32];
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(0xffffffff, own, step);
  if (i == 0) atomicAdd(out, own);
}

int main() {
  int h[50] = {}, *a, *out;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&out, sizeof *out);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof *out);
  sum<<<1, 64>>>(a, out, 50);
  cudaMemcpy(h, out, sizeof *out, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(out);
}
