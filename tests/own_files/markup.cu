// SPDX-License-Identifier: Apache-2.0
// Strides, and names that must not become <b>markup</b> & the like.
template <int n>
__global__ void halve(const float* in, float* out, int most) {
  __shared__ float columns[32][32];
  const int i = threadIdx.x;
  if (i < most && most > 0) out[i] = in[n * i];
  columns[i][1] = 0;
}

int main() {
  float *pairs, *out;
  cudaMalloc(&pairs, 256 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(pairs, 0, 256 * sizeof(float));
  halve<2><<<1, 32>>>(pairs, out, 32);
  halve<1><<<1, 32>>>(pairs, out, 16);
  float h;
  cudaMemcpy(&h, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(pairs);
  cudaFree(out);
  return h == 0 ? 0 : 1;
}
