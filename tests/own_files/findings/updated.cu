// SPDX-License-Identifier: Apache-2.0
// A histogram that nobody copies back, although atomics read what they update. A ticket that a kernel draws
// is read by it.
__global__ void count(const unsigned char* data, unsigned* counts, unsigned* ticket, unsigned* last) {
  atomicAdd(&counts[data[threadIdx.x]], 1);
  const unsigned drawn = atomicInc(ticket, 31);
  if (drawn == 31) *last = threadIdx.x;
}

int main() {
  unsigned char host[32] = {}, *data;
  unsigned *counts, *ticket, *last, result;
  cudaMalloc(&data, sizeof host);
  cudaMalloc(&counts, 256 * sizeof *counts);
  cudaMalloc(&ticket, sizeof *ticket);
  cudaMalloc(&last, sizeof *last);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(counts, 0, 256 * sizeof *counts);
  cudaMemset(ticket, 0, sizeof *ticket);
  count<<<1, 32>>>(data, counts, ticket, last);  // finds: never read
  cudaMemcpy(&result, last, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(data);
  cudaFree(counts);
  cudaFree(ticket);
  cudaFree(last);
}
