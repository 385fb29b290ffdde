// SPDX-License-Identifier: Apache-2.0
__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
