// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <thrust/device_vector.h>
__global__ void shift(const float* from, float* to) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i] + 1;
}
int main() {
  const int n = 50;
  thrust::device_vector<float> before(n, 2.0f), after(n);
  shift<<<2, 32>>>(before.data().get(), after.data().get());
  printf("%g\n", (float)after[n - 1]);
}
/* remedies_test
finds 6 error: also after
fix 6: if (i < 50) to[i] = from[i] + 1;
prints 3
*/
