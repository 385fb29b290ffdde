// SPDX-License-Identifier: Apache-2.0
__global__ void lane(int* out) {
  int a;
  asm("mov.u32 %0, %laneid;" : "=r"(a));
  out[threadIdx.x] = a;
}

int main() { return 0; }
