// SPDX-License-Identifier: Apache-2.0
// Lanes of the last warp return before the others meet: CUDA leaves this undefined, GPUs let them pass.
__global__ void meet(int* a, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  a[i] = i;
  __syncwarp();                                   // finds: barrier
  a[i] += __popc(__ballot_sync(0xffffffffu, 1));  // finds: inactive lane
}

__global__ void backwards(int* a, int n) {
  const int i = threadIdx.x;
  if (i < n) a[i] += __any_sync(0xffffffffu, 1);  // finds: inactive lane
}

int main() {
  int *d, h[50];
  cudaMalloc(&d, sizeof h);
  meet<<<1, 64>>>(d, 50);
  backwards<<<1, 64>>>(d, 50);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  return h[31] == 31 + 32 + 1 && h[49] == 49 + 18 + 1 ? 0 : 1;
}
