// SPDX-License-Identifier: Apache-2.0
// Thrust's vectors and algorithms, beside a kernel on the same memory.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <cstdio>

__global__ void twice(int* p, int n) {
  if (threadIdx.x < n) p[threadIdx.x] *= 2;
}

struct Odd {
  __host__ __device__ bool operator()(int i) const { return i % 2 != 0; }
};

int main() {
  thrust::host_vector<int> h(5);
  for (int i = 0; i < 5; ++i) h[i] = 5 - i;
  thrust::device_vector<int> d = h;
  twice<<<1, 32>>>(thrust::raw_pointer_cast(d.data()), 5);  // 10 8 6 4 2
  thrust::sort(d.begin(), d.end());
  thrust::device_vector<int> e(5), sums(5);
  thrust::sequence(thrust::device, e.begin(), e.end(), 1);
  thrust::transform(d.begin(), d.end(), e.begin(), e.begin(), thrust::minus<int>());  // 1 2 3 4 5
  thrust::exclusive_scan(d.begin(), d.end(), sums.begin());
  d[0] = e[4] + 1;
  printf("%d %d %d %d\n", thrust::reduce(e.begin(), e.end()), int(sums[4]), int(d[0]),
         int(thrust::count_if(e.begin(), e.end(), Odd())));
  h = sums;
  const thrust::device_ptr<int> most = thrust::max_element(e.data(), e.data() + 5);
  printf("%d %d %zu\n", h[1], int(*most), d.size());
}
