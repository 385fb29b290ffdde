// SPDX-License-Identifier: Apache-2.0
// The host reads device memory.
int main() {
  int* a;
  cudaMalloc(&a, 32 * sizeof *a);
  cudaMemset(a, 0, 32 * sizeof *a);
  return a[3];  // finds: device pointer
}
