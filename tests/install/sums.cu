// SPDX-License-Identifier: Apache-2.0
// A stranger's file for nvcc: the integral of a callable by the processors, and by a GPU where there is one.
#include <cmath>
#include <cstdio>
#include "tessera/ops/integrate.hpp"
#include "tessera/run/choose.hpp"

namespace {

struct Witch {
  __host__ __device__ double operator()(double x) const { return 4 / (1 + x * x); }
};

}  // namespace

int main() {
  const double sum = tessera::integrate(Witch{}, 0, 1, {.strips = 4096}).value;
  std::printf("%.9f\n", sum);
  try {
    std::printf("%.9f\n",
                tessera::integrate(tessera::find_device("cuda"), Witch{}, 0, 1, {.strips = 4096}).value);
  } catch (const tessera::Error& error) {
    std::printf("%s\n", error.what());
  }
  return std::fabs(sum - std::acos(-1.0)) < 1e-7 ? 0 : 1;
}
