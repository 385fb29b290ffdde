// SPDX-License-Identifier: Apache-2.0
// All threads add to one sum without an atomic.
__global__ void add(const int* a, int* sum) {
  *sum += a[blockIdx.x * blockDim.x + threadIdx.x];  // finds: race
}

int main() {
  int h[64] = {}, *a, *sum;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&sum, sizeof *sum);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, sizeof *sum);
  add<<<2, 32>>>(a, sum);
  cudaMemcpy(h, sum, sizeof *sum, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(sum);
}
