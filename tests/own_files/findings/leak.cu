// SPDX-License-Identifier: Apache-2.0
int main() {
  int* a;
  cudaMalloc(&a, 32 * sizeof *a);  // finds: leak
}
