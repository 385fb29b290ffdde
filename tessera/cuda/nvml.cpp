// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/nvml.hpp"
#include <dlfcn.h>

namespace tessera::cuda {
namespace {

constexpr int success = 0;
constexpr unsigned instant_power = 186;  // a field's number

// As the library lays it out.
struct Field {
  unsigned id = 0, scope = 0;
  long long timestamp = 0, latency = 0;
  int type = 0, status = 0;
  union {
    double real;
    unsigned whole;
    unsigned long long large;
  } value = {};
};

struct Library {
  void* handle = nullptr;
  std::string why;
  int (*init)() = nullptr;
  int (*device_at)(const char*, void**) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;
  int (*fields)(void*, int, Field*) = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  const char* (*text)(int) = nullptr;

  Library() {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      why = "the driver's library libnvidia-ml.so.1 is not there";
      return;
    }
    find(init, "nvmlInit_v2");
    find(device_at, "nvmlDeviceGetHandleByPciBusId_v2");
    find(power, "nvmlDeviceGetPowerUsage");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(fields, "nvmlDeviceGetFieldValues");
    find(version, "nvmlSystemGetDriverVersion");
    find(text, "nvmlErrorString");
    if (init == nullptr || device_at == nullptr) why = "libnvidia-ml.so.1 is too old";
    else if (const int status = init(); status != success) why = "libnvidia-ml.so.1: " + words(status);
  }

  std::string words(int status) const {
    return text != nullptr ? text(status) : "error " + std::to_string(status);
  }

 private:
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
  }
};

// Stays loaded until the program ends: loading takes long, and the runtime uses the driver until then.
const Library& library() {
  static const Library* const loaded = new Library;
  return *loaded;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus) : silence_(library().why) {
  if (!silence_.empty()) return;
  if (const int status = library().device_at(pci_bus.c_str(), &device_); status != success) {
    device_ = nullptr;
    silence_ = "libnvidia-ml.so.1 does not know the GPU at " + pci_bus + ": " + library().words(status);
  }
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  if (device_ == nullptr || library().version == nullptr || library().version(text, sizeof text) != success)
    return {};
  return text;
}

std::optional<double> Nvml::power_w() const {
  if (device_ == nullptr) return std::nullopt;
  Field field;
  field.id = instant_power;
  if (library().fields != nullptr && library().fields(device_, 1, &field) == success &&
      field.status == success)
    return field.value.whole * 1e-3;
  unsigned milliwatts = 0;
  if (library().power == nullptr || library().power(device_, &milliwatts) != success) return std::nullopt;
  return milliwatts * 1e-3;
}

std::optional<double> Nvml::joules() const {
  unsigned long long millijoules = 0;
  if (device_ == nullptr || library().energy == nullptr || library().energy(device_, &millijoules) != success)
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace tessera::cuda
