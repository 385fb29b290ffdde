// SPDX-License-Identifier: Apache-2.0
// A thread waits for a value that nobody writes.
__global__ void wait_for(volatile int* flag) {
  while (*flag == 0) {  // finds: stopped
  }
  *flag = 2;
}

int main() {
  int* flag;
  cudaMalloc(&flag, sizeof(int));
  cudaMemset(flag, 0, sizeof(int));
  wait_for<<<1, 32>>>(flag);
  cudaDeviceSynchronize();
  cudaFree(flag);
}
