// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/device.hpp"
#include "tessera/core/device.hpp"
#include "tessera/cuda/nvml.hpp"

namespace tessera::cuda {
namespace {

std::string version_text(int version) {  // 13000 is 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_words(int index) {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  return tessera::driver_text(
      {"driver for CUDA " + version_text(driver) + ", runtime " + version_text(runtime),
       Nvml(pci_bus_of(index)).driver_version()});
}

std::string why_unusable(cudaError_t status) {
  (void)cudaGetLastError();
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver was found";
  (void)cudaRuntimeGetVersion(&runtime);
  if (status == cudaErrorInsufficientDriver)
    return "the driver supports CUDA " + version_text(driver) + ", this build needs " + version_text(runtime);
  if (status == cudaErrorNoDevice || status == cudaSuccess) return "the NVIDIA driver finds no GPU";
  return std::string("CUDA: ") + cudaGetErrorString(status);
}

Device describe(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index));
  Device d;
  d.where = Where::cuda;
  d.index = index;
  d.name = properties.name;
  d.processors = properties.multiProcessorCount;
  d.compute_capability = 10 * properties.major + properties.minor;
  d.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  d.cache_bytes = properties.l2CacheSize;
  d.max_threads_per_block = properties.maxThreadsPerBlock;
  d.max_shared_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  d.driver = driver_words(index);
  return d;
}

}  // namespace

std::string pci_bus_of(int index) {
  char text[32] = {};
  check(cudaDeviceGetPCIBusId(text, sizeof text, index));
  return text;
}

Found find_devices() {
  Found found;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    found.unusable = why_unusable(status);
    return found;
  }
  for (int i = 0; i < count; ++i) found.devices.push_back(describe(i));
  return found;
}

}  // namespace tessera::cuda
