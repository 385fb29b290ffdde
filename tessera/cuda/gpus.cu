// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/gpus.hpp"
#include <cuda.h>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/dynamic_library.hpp"
#include "tessera/cuda/nvml.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {
namespace {

constexpr int success = 0;
constexpr unsigned instant_power = 186;  // NVML's field ID

// The layout of nvmlFieldValue_t.
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
  DynamicLibrary file{{"libnvidia-ml.so.1"}};
  int (*init)() = file.function("nvmlInit_v2");
  int (*device_at)(const char*, void**) = file.function("nvmlDeviceGetHandleByPciBusId_v2");
  int (*power)(void*, unsigned*) = file.function("nvmlDeviceGetPowerUsage");
  int (*energy)(void*, unsigned long long*) = file.function("nvmlDeviceGetTotalEnergyConsumption");
  int (*fields)(void*, int, Field*) = file.function("nvmlDeviceGetFieldValues");
  int (*version)(char*, unsigned) = file.function("nvmlSystemGetDriverVersion");
  const char* (*text)(int) = file.function("nvmlErrorString");
  std::string why;

  Library() {
    if (!file.found()) why = "the driver's library libnvidia-ml.so.1 is not there";
    else if (init == nullptr || device_at == nullptr) why = "libnvidia-ml.so.1 is too old";
    else if (const int status = init(); status != success) why = "libnvidia-ml.so.1: " + words(status);
  }

  std::string words(int status) const {
    return text != nullptr ? text(status) : "error " + std::to_string(status);
  }
};

// Loads NVML, which stays loaded because loading is slow and the runtime uses the driver until the end.
const Library& library() {
  static const Library* const loaded = new Library;
  return *loaded;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus) : unavailable_reason_(library().why) {
  if (!unavailable_reason_.empty()) return;
  if (const int status = library().device_at(pci_bus.c_str(), &device_); status != success) {
    device_ = nullptr;
    unavailable_reason_ =
        "libnvidia-ml.so.1 does not know the GPU at " + pci_bus + ": " + library().words(status);
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

namespace {

std::string version_text(int version) {  // 13000 is 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_versions(int index) {
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
  d.multiprocessors = properties.multiProcessorCount;
  d.compute_capability = 10 * properties.major + properties.minor;
  d.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  d.cache_bytes = properties.l2CacheSize;
  d.max_threads_per_block = properties.maxThreadsPerBlock;
  d.max_shared_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  d.driver = driver_versions(index);
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

namespace {

// The driver's functions, looked up at run time: the program must start without a driver, or with an older
// one.
struct Driver {
  decltype(&cuDeviceGetDevResource) get_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) create = nullptr;
  decltype(&cuGreenCtxStreamCreate) make_stream = nullptr;
  std::string absent;

  Driver() {
    find("cuDeviceGetDevResource", get_resource);
    find("cuDevSmResourceSplitByCount", split);
    find("cuDevResourceGenerateDesc", describe);
    find("cuGreenCtxCreate", create);
    find("cuGreenCtxStreamCreate", make_stream);
  }

 private:
  template <class F>
  void find(const char* name, F& function) {
    constexpr unsigned since = 12050;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &result);
    (void)cudaGetLastError();
    if (status == cudaSuccess && result == cudaDriverEntryPointSuccess) function = reinterpret_cast<F>(found);
    else absent = std::string("the driver is too old to divide a GPU: it has no ") + name;
  }
};

const Driver& driver() {
  static const Driver known;
  return known;
}

void check_driver(CUresult status, const char* doing) {
  if (status != CUDA_SUCCESS)
    throw Error(Error::Kind::no_device, "the driver's error " + std::to_string(status) + " " + doing);
}

// Returns the GPU's multiprocessors in the smallest groups that the driver gives: every part consists of
// whole groups, so that parts of one GPU with disjoint ranges share no multiprocessor. Small groups may lie
// in different hardware clusters (GPCs), where large thread block clusters do not fit.
std::vector<CUdevResource> groups_of(const Device& device) {
  constexpr unsigned least = 2;  // multiprocessors come in pairs
  CUdevResource all{}, rest{};
  check_driver(driver().get_resource(device.index, &all, CU_DEV_RESOURCE_TYPE_SM),
               "telling the multiprocessors");
  constexpr unsigned any = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
  unsigned count = 0;
  check_driver(driver().split(nullptr, &count, &all, nullptr, any, least), "counting parts");
  std::vector<CUdevResource> out(count);
  check_driver(driver().split(out.data(), &count, &all, &rest, any, least), "dividing the multiprocessors");
  out.resize(count);
  return out;
}

CUgreenCtx make_context(const Device& device, const Part& part) {
  std::vector<CUdevResource> groups = groups_of(device);
  const int size = groups.empty() ? 0 : static_cast<int>(groups[0].sm.smCount);
  if (size == 0) throw Error(Error::Kind::no_device, "the driver cannot partition the multiprocessors");
  if (part.first % size != 0 || part.count % size != 0)
    throw Error("multiprocessors are allocated in multiples of " + std::to_string(size));
  const auto first = static_cast<std::size_t>(part.first / size),
             count = static_cast<std::size_t>(part.count / size);
  if (first + count > groups.size())
    throw Error("the driver allocates only " +
                std::to_string(groups.size() * static_cast<std::size_t>(size)) + " multiprocessors");
  CUdevResourceDesc description{};
  check_driver(driver().describe(&description, groups.data() + first, static_cast<unsigned>(count)),
               "describing a part");
  CUgreenCtx out{};
  check_driver(driver().create(&out, description, device.index, CU_GREEN_CTX_DEFAULT_STREAM),
               "making a part");
  return out;
}

// Returns a part's context, which is kept until the process ends because streams may still use it.
CUgreenCtx context_of(const Device& device, const Part& part) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::tuple<int, int, int>, CUgreenCtx>;
  const std::lock_guard lock(mutex);
  const std::tuple key(device.index, part.first, part.count);
  if (const auto found = known->find(key); found != known->end()) return found->second;
  if (!driver().absent.empty()) throw Error(Error::Kind::no_device, driver().absent);
  const OnDevice on_device(device.index);
  check(cudaFree(nullptr));  // creates the entire GPU's context; else each part would create it anew
  return known->emplace(key, make_context(device, part)).first->second;
}

std::string no_part(const Device& device) try {
  (void)context_of(device, *part_of(device));
  return {};
} catch (const Error& error) {
  return error.what();
}

[[maybe_unused]] const bool registered = (register_parts(Where::cuda, no_part), true);

}  // namespace

Stream stream_on(const Device& device) {
  const auto part = part_of(device);
  if (!part) return Stream();
  CUstream stream = nullptr;
  check_driver(driver().make_stream(&stream, context_of(device, *part), CU_STREAM_NON_BLOCKING, 0),
               "making a stream of a part");
  return Stream(stream);
}

}  // namespace tessera::cuda
