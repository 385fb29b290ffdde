// SPDX-License-Identifier: Apache-2.0
// Host threads that launch kernels side by side.
#include <omp.h>
#include <cstdio>

__global__ void set(int* p, int value) { *p = value; }

int main() {
  int h[4] = {}, threads = 0;
#pragma omp parallel num_threads(4)
  {
    const int me = omp_get_thread_num();
    int* d;
    cudaMalloc(&d, sizeof(int));
    set<<<1, 1>>>(d, me + 1);
    cudaMemcpy(&h[me], d, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(d);
#pragma omp atomic
    ++threads;
  }
  printf("%d %d\n", threads, h[0] + h[1] + h[2] + h[3]);
}
