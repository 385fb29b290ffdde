// SPDX-License-Identifier: Apache-2.0
// Variables of the device that are too small for their index.
__device__ int table[4];
__constant__ float weights[3] = {1, 2, 3};

__global__ void fill() { table[threadIdx.x] = threadIdx.x; }  // finds: out of bounds
__global__ void weigh(float* a) {
  a[threadIdx.x] = weights[threadIdx.x];  // finds: out of bounds
}

int main() {
  float h[4], *a;
  int t[4];
  cudaMalloc(&a, sizeof h);
  fill<<<1, 5>>>();
  weigh<<<1, 4>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(t, table, sizeof t);
  cudaFree(a);
}
