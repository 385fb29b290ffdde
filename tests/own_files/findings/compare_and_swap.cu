// SPDX-License-Identifier: Apache-2.0
// A sum of doubles by a loop of atomicCAS: the plain read before it races, and may be old, as the loop
// compares it.
__global__ void sum(unsigned long long* total) {
  unsigned long long old = *total, assumed;  // finds: race
  do {
    assumed = old;
    old = atomicCAS(total, assumed, __double_as_longlong(1 + __longlong_as_double(assumed)));
  } while (assumed != old);
}

int main() {
  double h = 0;
  unsigned long long* d;
  cudaMalloc(&d, sizeof h);
  cudaMemset(d, 0, sizeof h);
  sum<<<4, 64>>>(d);
  cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  return h == 256 ? 0 : 1;
}
