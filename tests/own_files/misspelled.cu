// SPDX-License-Identifier: Apache-2.0
// clang-format off
__global__ void k(int*   out, int n) {
  if (threadIdx.x < n)   out[threadIdx.x] = blockIdx.x +   nn;
}

int main() { return 0; }
