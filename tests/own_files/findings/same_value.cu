// SPDX-License-Identifier: Apache-2.0
// Flags that many threads set: each time to one value, and to a value of their own.
__global__ void any(const int* a, int* out) {
  __shared__ int found, last;
  if (threadIdx.x == 0) found = last = 0;
  __syncthreads();
  if (a[threadIdx.x] == 0) found = 1;  // finds: race
  __syncthreads();
  if (a[threadIdx.x] == 0) last = threadIdx.x;  // finds: race
  __syncthreads();
  if (threadIdx.x == 0) *out = found + last;
}

int main() {
  int h[64] = {}, *a, *out;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&out, sizeof *out);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  any<<<1, 64>>>(a, out);
  cudaMemcpy(h, out, sizeof *out, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(out);
}
