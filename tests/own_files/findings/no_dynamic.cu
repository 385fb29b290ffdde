// SPDX-License-Identifier: Apache-2.0
// The launch forgets the bytes of dynamic shared memory.
__global__ void twice(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x;  // finds: out of bounds
  out[threadIdx.x] = 2 * threadIdx.x;
}

int main() {
  int out[64], *d_out;
  cudaMalloc(&d_out, sizeof out);
  twice<<<1, 64>>>(d_out);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  cudaFree(d_out);
}
