// SPDX-License-Identifier: Apache-2.0
// What kernels allocate is memory of the device, each block by itself. A list that one kernel builds and the
// next one reads and frees is right; the mistakes are below it.
#include <cstdio>
#include <cstdlib>

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int corners() const = 0;
  Shape* next = nullptr;
};
struct Polygon : Shape {
  int number;
  __device__ explicit Polygon(int n) : number(n) {}
  __device__ int corners() const override { return number; }
};

__global__ void build(Shape** heads) {
  for (int n = 3; n < 6; ++n) {
    Shape* const shape = new Polygon(n);
    shape->next = heads[threadIdx.x];
    heads[threadIdx.x] = shape;
  }
}

__global__ void count(Shape** heads, int* corners) {
  int* const found = static_cast<int*>(malloc(3 * sizeof(int)));
  int number = 0, sum = 0;
  for (Shape* shape = heads[threadIdx.x]; shape != nullptr;) {
    found[number++] = shape->corners();
    Shape* const next = shape->next;
    delete shape;
    shape = next;
  }
  for (int i = 0; i < number; ++i) sum += found[i];
  free(found);
  corners[threadIdx.x] = sum;
}

__global__ void mistakes(float** kept, float* out) {
  float* const values = new float[4];  // finds: leak
  values[threadIdx.x] = 1;
  values[threadIdx.x + 4] = 2;                           // finds: out of bounds
  *out = values[threadIdx.x] + values[threadIdx.x + 1];  // finds: uninitialised
  float* const scratch = static_cast<float*>(malloc(8));
  *scratch = *out;
  free(scratch);
  free(scratch);  // finds: free
  *kept = scratch;
}

__global__ void later(float** kept, float* out) {
  *out += **kept;  // finds: out of bounds
}

int main() {
  int host[32], *corners;
  float **kept, *out, result;
  Shape** heads;
  cudaMalloc(&heads, 32 * sizeof *heads);
  cudaMalloc(&corners, sizeof host);
  cudaMemset(heads, 0, 32 * sizeof *heads);
  build<<<1, 32>>>(heads);
  count<<<1, 32>>>(heads, corners);
  cudaMemcpy(host, corners, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", host[0], host[31]);

  cudaMalloc(&kept, sizeof *kept);
  cudaMalloc(&out, sizeof *out);
  mistakes<<<1, 1>>>(kept, out);
  float* of_kernel;
  cudaMemcpy(&of_kernel, kept, sizeof of_kernel, cudaMemcpyDeviceToHost);
  cudaMemcpy(&result, of_kernel, sizeof result, cudaMemcpyDeviceToHost);  // finds: copy
  later<<<1, 1>>>(kept, out);
  cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(heads);
  cudaFree(corners);
  cudaFree(kept);
  cudaFree(out);
}
