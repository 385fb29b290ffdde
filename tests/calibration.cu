// SPDX-License-Identifier: Apache-2.0
// Launches each calibration kernel once on the first GPU, in the order of the list, and nothing else: run
// under a profiler, the n-th launch is the n-th kernel. Prints their names in that order.
#include <cstdio>
#include <exception>
#include <string>
#include "calibration_list.hpp"
#include "tessera/cuda/resources.hpp"

namespace {

void launch_all() {
  using namespace tessera;
  const cuda::DeviceBuffer a(calibration::a_count * sizeof(float)), b(calibration::b_count * sizeof(float)),
      c(calibration::c_count * sizeof(float));
  cuda::check(cudaMemset(a.get(), 0, a.bytes()));
  cuda::check(cudaMemset(b.get(), 0, b.bytes()));
  const calibration::Arrays arrays{static_cast<const float*>(a.get()), static_cast<const float*>(b.get()),
                                   static_cast<float*>(c.get()), calibration::side};
  Device device;
  device.where = Where::cuda;
  Run run;
  run.device = &device;
  calibration::each([&]<class Kernel>(const std::string& name, const Launch& grid) {
    launch_kernel<Kernel>(grid, arrays, run);
    cuda::check(cudaDeviceSynchronize());
    std::printf("%s\n", name.c_str());
  });
}

}  // namespace

int main() {
  try {
    launch_all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "calibration: %s\n", error.what());
    return 5;
  }
}
