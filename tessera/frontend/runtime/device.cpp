// SPDX-License-Identifier: Apache-2.0
// The GPU that the runtime reports: its properties and limits.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "tessera/bench/code.hpp"
#include "tessera/frontend/runtime/memory/heap.hpp"
#include "tessera/frontend/runtime/launch/kernels.hpp"
#include "tessera/frontend/runtime/runtime.hpp"
#include "tessera/simt/executor/executor.hpp"

namespace tessera_cuda {
namespace {

constexpr std::size_t GiB = std::size_t{1} << 30, MiB = std::size_t{1} << 20, KiB = 1 << 10;

// The values that deviceQuery shows.
constexpr Gpu gpus[] = {
    {"h200", "NVIDIA H200", 9, 0, 132, 1980000, 3201000, 6144, 143771 * MiB, 60 * MiB, 2048, 32, 228 * KiB,
     227 * KiB},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 1980000, 2619000, 5120, 81559 * MiB, 50 * MiB, 2048, 32,
     228 * KiB, 227 * KiB},
    {"a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 1410000, 1593000, 5120, 81920 * MiB, 40 * MiB, 2048, 32,
     164 * KiB, 163 * KiB},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 2520000, 10501000, 384, 24217 * MiB, 72 * MiB, 1536, 24,
     100 * KiB, 99 * KiB},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 1695000, 9751000, 384, 24268 * MiB, 6 * MiB, 1536, 16,
     100 * KiB, 99 * KiB},
    {"t4", "Tesla T4", 7, 5, 40, 1590000, 5001000, 256, 15102 * MiB, 4 * MiB, 1024, 16, 64 * KiB, 64 * KiB},
};

tessera::bench::Multiprocessor multiprocessor() {
  return tessera::bench::multiprocessor_of(gpu().major * 10 + gpu().minor);
}

int blocks_that_fit(const Kernel* kernel, int threads, std::size_t dynamic_bytes) {
  if (threads < 1 || threads > (kernel == nullptr ? 1024 : kernel->max_threads())) return 0;
  const std::size_t bytes = (kernel == nullptr ? 0 : kernel->static_bytes()) + dynamic_bytes;
  return tessera::bench::occupancy(multiprocessor(), threads, static_cast<std::int64_t>(bytes)).blocks;
}

bool launches_cooperatively = false;

// A program that fills the device with a cooperative grid sees one whose grids the executor can run.
int multiprocessors() {
  const int most =
      static_cast<int>(tessera::simt::max_cooperative_threads / gpu().threads_per_multiprocessor);
  if (!launches_cooperatively || gpu().multiprocessors <= most) return gpu().multiprocessors;
  record_note("the program launches cooperative grids: it sees " + std::to_string(most) + " of the " +
              std::to_string(gpu().multiprocessors) + " multiprocessors of a " + gpu().name +
              ", as many as the executor can run at once");
  return most;
}

}  // namespace

bool expect_cooperative_launches() { return launches_cooperatively = true; }

const Gpu& gpu() {
  static const Gpu& chosen = []() -> const Gpu& {
    const char* const word = std::getenv("TESSERA_CUDA_GPU");
    if (word == nullptr || *word == '\0') return gpus[0];
    for (const Gpu& known : gpus)
      if (std::strcmp(known.word, word) == 0) return known;
    std::string all;
    for (const Gpu& known : gpus) all += std::string(all.empty() ? "" : ", ") + known.word;
    say_once(std::string("--gpu ") + word + " is not known: " + all);
    std::_Exit(2);
  }();
  return chosen;
}

cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* address) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const Kernel* const kernel = kernel_at(address);
  if (kernel == nullptr) return r.fail(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->sharedSizeBytes = kernel->static_bytes();
  attributes->maxThreadsPerBlock = kernel->max_threads();
  attributes->numRegs = 32;  // a guess, because only nvcc determines it
  attributes->ptxVersion = attributes->binaryVersion = gpu().major * 10 + gpu().minor;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel->largest_dynamic);
  return cudaSuccess;
}

cudaError_t set_attribute(const void* address, cudaFuncAttribute attribute, int value) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  Kernel* const kernel = kernel_at(address);
  if (kernel == nullptr) return r.fail(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) + kernel->static_bytes() > gpu().max_shared_per_block)
    return r.fail(cudaErrorInvalidValue);
  kernel->largest_dynamic = std::max<std::size_t>(static_cast<std::size_t>(value), 48 * KiB);
  return cudaSuccess;
}

cudaError_t blocks_per_multiprocessor(int* blocks, const void* address, int block_size,
                                      std::size_t shared_bytes) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const Kernel* const kernel = kernel_at(address);
  if (kernel == nullptr) return r.fail(cudaErrorInvalidDeviceFunction);
  if (block_size < 1) return r.fail(cudaErrorInvalidValue);
  *blocks = blocks_that_fit(kernel, block_size, shared_bytes);
  return cudaSuccess;
}

cudaError_t best_block_size(int* grid, int* block, const void* address, std::size_t shared_bytes,
                            std::size_t (*shared_bytes_of)(const void*, int), const void* context,
                            int limit) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const Kernel* const kernel = kernel_at(address);
  if (kernel == nullptr) return r.fail(cudaErrorInvalidDeviceFunction);
  const int most = limit > 0 ? std::min(limit, kernel->max_threads()) : kernel->max_threads();
  int best_threads = 0, best_size = 0, best_blocks = 0;
  for (int size = most / 32 * 32; size >= 32; size -= 32) {
    const std::size_t bytes = shared_bytes_of == nullptr ? shared_bytes : shared_bytes_of(context, size);
    const int blocks = blocks_that_fit(kernel, size, bytes);
    if (blocks * size <= best_threads) continue;
    best_threads = blocks * size;
    best_size = size;
    best_blocks = blocks;
  }
  *block = best_size;
  *grid = best_blocks * multiprocessors();
  return cudaSuccess;
}

}  // namespace tessera_cuda

using tessera_cuda::gpu;
using tessera_cuda::Lock;
using tessera_cuda::Runtime;

namespace {

cudaError_t succeed() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  return r.state() == cudaSuccess ? cudaSuccess : r.fail(r.state());
}

cudaError_t check_device(int device) {
  return device == 0 ? cudaSuccess : Runtime::get().fail(cudaErrorInvalidDevice);
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return check_device(device); }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned int) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  *flags = cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }

cudaError_t cudaDeviceSynchronize() { return succeed(); }
cudaError_t cudaDeviceReset() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  r.sticky = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  *p = {};
  std::snprintf(p->name, sizeof p->name, "%s", gpu().name);
  p->totalGlobalMem = gpu().memory_bytes;
  p->sharedMemPerBlock = 48 << 10;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 2147483647;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->clockRate = gpu().clock_khz;
  p->totalConstMem = 65536;
  p->major = gpu().major;
  p->minor = gpu().minor;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->deviceOverlap = p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = 1;
  p->multiProcessorCount = tessera_cuda::multiprocessors();
  p->maxTexture1D = 131072;
  p->maxTexture1DLinear = 268435456;
  p->maxTexture2D[0] = 131072;
  p->maxTexture2D[1] = 65536;
  for (int& extent : p->maxTexture3D) extent = 16384;
  p->maxTexture1DLayered[0] = 32768;
  p->maxTexture1DLayered[1] = 2048;
  p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
  p->maxTexture2DLayered[2] = 2048;
  p->surfaceAlignment = 512;
  p->ECCEnabled = gpu().bus_bits > 1024;
  p->asyncEngineCount = 3;
  p->memoryClockRate = gpu().memory_clock_khz;
  p->memoryBusWidth = gpu().bus_bits;
  p->l2CacheSize = static_cast<int>(gpu().l2_bytes);
  p->maxThreadsPerMultiProcessor = gpu().threads_per_multiprocessor;
  p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = gpu().shared_per_multiprocessor;
  p->managedMemory = 1;
  p->singleToDoublePrecisionPerfRatio = 2;
  p->concurrentManagedAccess = p->computePreemptionSupported = p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = 1;
  p->sharedMemPerBlockOptin = gpu().max_shared_per_block;
  p->maxBlocksPerMultiProcessor = gpu().blocks_per_multiprocessor;
  p->reservedSharedMemPerBlock = gpu().major >= 8 ? 1024 : 0;
  p->hostRegisterSupported = 1;
  p->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
  switch (attribute) {
#define TESSERA_ATTRIBUTE(name, member)  \
  case cudaDevAttr##name:                \
    *value = static_cast<int>(p.member); \
    return cudaSuccess;
    TESSERA_ATTRIBUTE(MaxThreadsPerBlock, maxThreadsPerBlock)
    TESSERA_ATTRIBUTE(MaxBlockDimX, maxThreadsDim[0])
    TESSERA_ATTRIBUTE(MaxBlockDimY, maxThreadsDim[1])
    TESSERA_ATTRIBUTE(MaxBlockDimZ, maxThreadsDim[2])
    TESSERA_ATTRIBUTE(MaxGridDimX, maxGridSize[0])
    TESSERA_ATTRIBUTE(MaxGridDimY, maxGridSize[1])
    TESSERA_ATTRIBUTE(MaxGridDimZ, maxGridSize[2])
    TESSERA_ATTRIBUTE(MaxSharedMemoryPerBlock, sharedMemPerBlock)
    TESSERA_ATTRIBUTE(TotalConstantMemory, totalConstMem)
    TESSERA_ATTRIBUTE(WarpSize, warpSize)
    TESSERA_ATTRIBUTE(MaxPitch, memPitch)
    TESSERA_ATTRIBUTE(MaxRegistersPerBlock, regsPerBlock)
    TESSERA_ATTRIBUTE(ClockRate, clockRate)
    TESSERA_ATTRIBUTE(TextureAlignment, textureAlignment)
    TESSERA_ATTRIBUTE(GpuOverlap, deviceOverlap)
    TESSERA_ATTRIBUTE(MultiProcessorCount, multiProcessorCount)
    TESSERA_ATTRIBUTE(KernelExecTimeout, kernelExecTimeoutEnabled)
    TESSERA_ATTRIBUTE(Integrated, integrated)
    TESSERA_ATTRIBUTE(CanMapHostMemory, canMapHostMemory)
    TESSERA_ATTRIBUTE(ComputeMode, computeMode)
    TESSERA_ATTRIBUTE(ConcurrentKernels, concurrentKernels)
    TESSERA_ATTRIBUTE(EccEnabled, ECCEnabled)
    TESSERA_ATTRIBUTE(PciBusId, pciBusID)
    TESSERA_ATTRIBUTE(PciDeviceId, pciDeviceID)
    TESSERA_ATTRIBUTE(TccDriver, tccDriver)
    TESSERA_ATTRIBUTE(MemoryClockRate, memoryClockRate)
    TESSERA_ATTRIBUTE(GlobalMemoryBusWidth, memoryBusWidth)
    TESSERA_ATTRIBUTE(L2CacheSize, l2CacheSize)
    TESSERA_ATTRIBUTE(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor)
    TESSERA_ATTRIBUTE(AsyncEngineCount, asyncEngineCount)
    TESSERA_ATTRIBUTE(UnifiedAddressing, unifiedAddressing)
    TESSERA_ATTRIBUTE(PciDomainId, pciDomainID)
    TESSERA_ATTRIBUTE(ComputeCapabilityMajor, major)
    TESSERA_ATTRIBUTE(ComputeCapabilityMinor, minor)
    TESSERA_ATTRIBUTE(StreamPrioritiesSupported, streamPrioritiesSupported)
    TESSERA_ATTRIBUTE(GlobalL1CacheSupported, globalL1CacheSupported)
    TESSERA_ATTRIBUTE(LocalL1CacheSupported, localL1CacheSupported)
    TESSERA_ATTRIBUTE(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor)
    TESSERA_ATTRIBUTE(MaxRegistersPerMultiprocessor, regsPerMultiprocessor)
    TESSERA_ATTRIBUTE(ManagedMemory, managedMemory)
    TESSERA_ATTRIBUTE(IsMultiGpuBoard, isMultiGpuBoard)
    TESSERA_ATTRIBUTE(HostNativeAtomicSupported, hostNativeAtomicSupported)
    TESSERA_ATTRIBUTE(SingleToDoublePrecisionPerfRatio, singleToDoublePrecisionPerfRatio)
    TESSERA_ATTRIBUTE(PageableMemoryAccess, pageableMemoryAccess)
    TESSERA_ATTRIBUTE(ConcurrentManagedAccess, concurrentManagedAccess)
    TESSERA_ATTRIBUTE(ComputePreemptionSupported, computePreemptionSupported)
    TESSERA_ATTRIBUTE(CanUseHostPointerForRegisteredMem, canUseHostPointerForRegisteredMem)
    TESSERA_ATTRIBUTE(CooperativeLaunch, cooperativeLaunch)
    TESSERA_ATTRIBUTE(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin)
    TESSERA_ATTRIBUTE(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor)
    TESSERA_ATTRIBUTE(ReservedSharedMemoryPerBlock, reservedSharedMemPerBlock)
    TESSERA_ATTRIBUTE(MemoryPoolsSupported, memoryPoolsSupported)
#undef TESSERA_ATTRIBUTE
  }
  return Runtime::get().fail(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  const Lock lock(Runtime::get().mutex);
  if (limit != cudaLimitMallocHeapSize || tessera_cuda::set_heap_limit(value)) return cudaSuccess;
  return Runtime::get().fail(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  *value = limit == cudaLimitStackSize        ? 1024
           : limit == cudaLimitPrintfFifoSize ? 1 << 20
           : limit == cudaLimitMallocHeapSize ? tessera_cuda::heap_limit()
                                              : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (length > 0) std::snprintf(text, static_cast<std::size_t>(length), "0000:00:00.0");
  return check_device(device);
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) { return cudaGetDevice(device); }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// There is one device, which has no peer.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = 0;
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  return check_device(peer);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) {
  return Runtime::get().fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int) { return Runtime::get().fail(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  *value = 0;
  return Runtime::get().fail(cudaErrorInvalidDevice);
}
