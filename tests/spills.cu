// SPDX-License-Identifier: Apache-2.0
// A kernel whose array lies in local memory: with the flags of code made for one architecture it must not
// compile.
__global__ void keep_in_local_memory(float* x, int n) {
  float kept[64];
  for (int i = 0; i < 64; ++i) kept[i] = x[i] * static_cast<float>(i);
  for (int i = 0; i < 64; ++i) kept[(i * n) % 64] += kept[i];
  x[n] = kept[n];
}
