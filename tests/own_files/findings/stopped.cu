// SPDX-License-Identifier: Apache-2.0
// An assertion of a kernel fails.
#include <cassert>

__global__ void demand(int n) { assert(threadIdx.x < n); }

int main() {
  demand<<<1, 32>>>(16);  // finds: stopped
  cudaDeviceSynchronize();
}
