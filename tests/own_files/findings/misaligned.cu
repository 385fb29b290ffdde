// SPDX-License-Identifier: Apache-2.0
// A float4 must lie at a multiple of 16 bytes.
__global__ void sum(const float* a, float* out) {
  const float4 four = *reinterpret_cast<const float4*>(a + 4 * threadIdx.x + 1);  // finds: misaligned
  out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

int main() {
  float h[256] = {}, *a, *out;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&out, 32 * sizeof *out);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  sum<<<1, 32>>>(a, out);
  cudaMemcpy(h, out, 32 * sizeof *out, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(out);
}
