// SPDX-License-Identifier: Apache-2.0
// An index that lands in the next shared array, one that reaches the next row, and addresses of the end of an
// array and before it, which are no accesses.
__global__ void gather(int* a) {
  __shared__ int tile[32];
  __shared__ int rows[32][8];
  __shared__ int line[32];
  const int i = threadIdx.x;
  tile[i] = line[i] = a[i];
  for (int column = 0; column < 8; ++column) rows[i][column] = i;
  __syncthreads();
  int sum = tile[i + 129];                // finds: out of bounds
  if (i < 31) sum += rows[i][i % 8 + 1];  // finds: out of bounds
  for (const int *at = tile, *end = &tile[32]; at != end; ++at) sum += *at;
  const int* before = &line[i - 1];  // finds: out of bounds
  a[i] = sum + before[1];
}

int main() {
  int h[32] = {}, *a;
  cudaMalloc(&a, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  for (int times = 0; times < 2; ++times) gather<<<1, 32>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(a);
}
