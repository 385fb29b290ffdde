// SPDX-License-Identifier: Apache-2.0
// A shuffle names lanes that are not there.
__global__ void sum(int* a) {
  int own = a[threadIdx.x];
  if (threadIdx.x < 16) own += __shfl_down_sync(0xffffffff, own, 8);  // finds: inactive lane
  a[threadIdx.x] = own;
}

int main() {
  int h[32] = {}, *a;
  cudaMalloc(&a, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, 32>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
}
