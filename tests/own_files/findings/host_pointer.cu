// SPDX-License-Identifier: Apache-2.0
// The kernel gets the host's array.
#include <cstdlib>

__global__ void twice(int* a) {
  a[threadIdx.x] *= 2;  // finds: host pointer
}

int main() {
  int* const a = static_cast<int*>(calloc(32, sizeof(int)));
  twice<<<1, 32>>>(a);
  cudaDeviceSynchronize();
  free(a);
}
