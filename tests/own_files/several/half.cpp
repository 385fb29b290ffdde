// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__host__ int half_of(int n) {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices == 1 ? n / 2 : -1;
}
