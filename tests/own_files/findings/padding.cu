// SPDX-License-Identifier: Apache-2.0
// Structs are written member by member and copied whole: nobody writes their padding, and nobody needs to.
struct Hit {
  double distance;
  bool there;
};

__global__ void fill(Hit* hits) {
  hits[threadIdx.x].distance = threadIdx.x;
  hits[threadIdx.x].there = true;
}

__global__ void reverse(const Hit* hits, Hit* out) {
  __shared__ Hit tile[32];
  tile[threadIdx.x].distance = hits[threadIdx.x].distance;
  tile[threadIdx.x].there = true;
  __syncthreads();
  const Hit own = tile[31 - threadIdx.x];
  out[threadIdx.x] = own;
  const Hit other = hits[threadIdx.x];
  out[threadIdx.x + 32] = other;
}

int main() {
  Hit h[64], *hits, *out;
  cudaMalloc(&hits, 32 * sizeof *hits);
  cudaMalloc(&out, sizeof h);
  fill<<<1, 32>>>(hits);
  reverse<<<1, 32>>>(hits, out);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(hits);
  cudaFree(out);
}
