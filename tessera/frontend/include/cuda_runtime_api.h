// SPDX-License-Identifier: Apache-2.0
// The host side of the runtime API, implemented by libtessera_cuda.so for one device. Calls that findings may
// name receive their source line.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <type_traits>
#include <utility>
#include "driver_types.h"
#include "vector_types.h"

#define CUDART_VERSION 12040
#define CUDA_VERSION 12040
#define __CUDART_API_VERSION CUDART_VERSION

namespace tessera_cuda {

struct CallSite {
  const char* file;
  int line;
  static constexpr CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

enum class Memory { device, pinned, managed };
// `text`: the pointer as the caller spells it, from which the array gets its name.
cudaError_t allocate(const char* text, void** pointer, size_t bytes, size_t element_bytes, Memory memory,
                     CallSite at);
// Returns the name of the next variable that a line declares with a class template; the template's if there
// is none.
const char* declared_name(const char* type, CallSite at);
cudaError_t allocate_pitched(const char* text, void** pointer, size_t* pitch, size_t width, size_t height,
                             size_t element_bytes, CallSite at);
// 0 if the pointer type does not tell.
template <class T>
constexpr size_t element_bytes_of() {
  if constexpr (std::is_void_v<T>) return 0;
  else return sizeof(T);
}

// Fails in a captured stream, for operations that cannot become part of a graph.
cudaError_t refuse_in_capture(cudaStream_t stream);

// A kernel, whatever its parameters are.
using Code = void (*)();

}  // namespace tessera_cuda

// Errors
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

// Devices
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int* flags);
cudaError_t cudaSetValidDevices(int* devices, int count);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device);
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to);
cudaError_t cudaCtxResetPersistingL2Cache();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

// Memory
cudaError_t cudaFree(void* pointer, tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaFreeHost(void* pointer, tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags,
                             tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int* flags, void* host);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device,
                                 cudaStream_t stream = nullptr);
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                          cudaMemLocation location);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                       tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr,
                            tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream = nullptr,
                                tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind,
                         tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                              tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemset(void* to, int byte, size_t bytes,
                       tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t stream = nullptr,
                            tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemset2D(void* to, size_t pitch, int byte, size_t width, size_t height,
                         tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int byte, size_t width, size_t height,
                              cudaStream_t stream = nullptr,
                              tessera_cuda::CallSite at = tessera_cuda::CallSite::current());

// These are macros because an array's name is taken from the argument, &d_a or (void**)&d_a. The functions
// are for calls with an explicit template argument.
template <class T>
inline cudaError_t cudaMalloc(T** pointer, size_t bytes,
                              tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::allocate("", (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(),
                                tessera_cuda::Memory::device, at);
}
template <class T>
inline cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int = 0,
                                  tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::allocate("", (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(),
                                tessera_cuda::Memory::pinned, at);
}
template <class T>
inline cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int = 0,
                                 tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::allocate("", (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(),
                                tessera_cuda::Memory::pinned, at);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned int = cudaMemAttachGlobal,
                                     tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::allocate("", (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(),
                                tessera_cuda::Memory::managed, at);
}
namespace tessera_cuda {
struct Named {
  const char* text;
  CallSite at;
  template <class T>
  cudaError_t device(T** pointer, size_t bytes) const {
    return allocate(text, (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(), Memory::device,
                    at);
  }
  template <class T>
  cudaError_t in_order(T** pointer, size_t bytes, cudaStream_t stream) const {
    const cudaError_t error = refuse_in_capture(stream);
    return error == cudaSuccess ? device(pointer, bytes) : error;
  }
  template <class T>
  cudaError_t pinned(T** pointer, size_t bytes, unsigned int = 0) const {
    return allocate(text, (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(), Memory::pinned,
                    at);
  }
  template <class T>
  cudaError_t managed(T** pointer, size_t bytes, unsigned int = cudaMemAttachGlobal) const {
    return allocate(text, (void**)(void*)pointer, bytes, tessera_cuda::element_bytes_of<T>(), Memory::managed,
                    at);
  }
  template <class T>
  cudaError_t pitched(T** pointer, size_t* pitch, size_t width, size_t height) const {
    return allocate_pitched(text, (void**)(void*)pointer, pitch, width, height, element_bytes_of<T>(), at);
  }
};
inline Named named(const char* text, CallSite at = CallSite::current()) { return {text, at}; }
}  // namespace tessera_cuda
#define cudaMalloc(pointer, ...) tessera_cuda::named(#pointer).device(pointer, __VA_ARGS__)
#define cudaMallocAsync(pointer, ...) tessera_cuda::named(#pointer).in_order(pointer, __VA_ARGS__)
#define cudaMallocHost(pointer, ...) tessera_cuda::named(#pointer).pinned(pointer, __VA_ARGS__)
#define cudaHostAlloc(pointer, ...) tessera_cuda::named(#pointer).pinned(pointer, __VA_ARGS__)
#define cudaMallocManaged(pointer, ...) tessera_cuda::named(#pointer).managed(pointer, __VA_ARGS__)
#define cudaMallocPitch(pointer, ...) tessera_cuda::named(#pointer).pitched(pointer, __VA_ARGS__)
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream,
                                 tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  const cudaError_t error = tessera_cuda::refuse_in_capture(stream);
  return error == cudaSuccess ? cudaFree(pointer, at) : error;
}
// Memory pools. There is one; its attributes are stored but have no effect.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
#define cudaMallocFromPoolAsync(pointer, bytes, pool, stream) \
  tessera_cuda::named(#pointer).in_order(pointer, bytes, stream)
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return cudaHostGetDevicePointer((void**)(void*)device, host, flags);
}
inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  return {width, height, depth};
}
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t xsize, size_t ysize) {
  return {pointer, pitch, xsize, ysize};
}

// Variables of the device, by name.
namespace tessera_cuda {
cudaError_t copy_to_symbol(void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                           CallSite at);
cudaError_t copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                             CallSite at);
cudaError_t symbol_address(void** pointer, const void* symbol);
cudaError_t symbol_size(size_t* bytes, const void* symbol);
template <class T>
void* symbol_of(const T& symbol) {
  return const_cast<void*>(static_cast<const volatile void*>(&symbol));
}
}  // namespace tessera_cuda
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                      tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::copy_to_symbol(tessera_cuda::symbol_of(symbol), from, bytes, offset, kind, at);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = nullptr,
                                           tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  if (const cudaError_t error = tessera_cuda::refuse_in_capture(stream)) return error;
  return tessera_cuda::copy_to_symbol(tessera_cuda::symbol_of(symbol), from, bytes, offset, kind, at);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                        tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::copy_from_symbol(to, tessera_cuda::symbol_of(symbol), bytes, offset, kind, at);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = nullptr,
                                             tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  if (const cudaError_t error = tessera_cuda::refuse_in_capture(stream)) return error;
  return tessera_cuda::copy_from_symbol(to, tessera_cuda::symbol_of(symbol), bytes, offset, kind, at);
}
template <class P, class T>
inline cudaError_t cudaGetSymbolAddress(P** pointer, const T& symbol) {
  return tessera_cuda::symbol_address((void**)(void*)pointer, tessera_cuda::symbol_of(symbol));
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  return tessera_cuda::symbol_size(bytes, tessera_cuda::symbol_of(symbol));
}

// Streams. Everything is executed in the order of the calls.
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags);
// Hints to the cache, which are stored but have no effect.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value);
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t tessera_cudaStreamAttach(cudaStream_t stream, void* pointer);
template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* pointer, size_t = 0,
                                            unsigned int = cudaMemAttachSingle) {
  return tessera_cudaStreamAttach(stream, pointer);
}

// Events, which measure the wall-clock time of this machine, not of a GPU.
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

// Kernels by their address
namespace tessera_cuda {
cudaError_t launch_by_address(const void* kernel, dim3 grid, dim3 block, void** arguments,
                              size_t shared_bytes, cudaStream_t stream, bool cooperative, CallSite at);
cudaError_t attributes_of(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t blocks_per_multiprocessor(int* blocks, const void* kernel, int block_size, size_t shared_bytes);
cudaError_t best_block_size(int* grid, int* block, const void* kernel, size_t shared_bytes,
                            size_t (*shared_bytes_of)(const void* context, int block_size),
                            const void* context, int limit);
// Registers a function that calls the kernel at an address with arguments from memory.
void make_known(const char* name, const void* kernel, Code code, void (*call)(Code, void** arguments));
template <class... P, size_t... i>
void call_with(Code kernel, [[maybe_unused]] void** arguments, std::index_sequence<i...>) {
  reinterpret_cast<void (*)(P...)>(kernel)(*static_cast<std::remove_const_t<P>*>(arguments[i])...);
}
template <class... P>
void call_with(Code kernel, void** arguments) {
  call_with<P...>(kernel, arguments, std::index_sequence_for<P...>());
}
template <class... P>
const void* address_of(void (*kernel)(P...)) {
  make_known("", reinterpret_cast<const void*>(kernel), reinterpret_cast<Code>(kernel), &call_with<P...>);
  return reinterpret_cast<const void*>(kernel);
}
inline const void* address_of(const void* kernel) { return kernel; }
bool expect_cooperative_launches();
template <class K>
struct CooperativeLaunch {  // made known before main(), which may ask how many blocks fit
  static inline const bool is_known = expect_cooperative_launches();
};
}  // namespace tessera_cuda

template <class K>
inline cudaError_t cudaLaunchKernel(K* kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                                    tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  return tessera_cuda::launch_by_address(tessera_cuda::address_of(kernel), grid, block, arguments,
                                         shared_bytes, stream, false, at);
}
template <class K>
inline cudaError_t cudaLaunchCooperativeKernel(
    K* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes = 0,
    cudaStream_t stream = nullptr, tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  static_cast<void>(&tessera_cuda::CooperativeLaunch<K>::is_known);
  return tessera_cuda::launch_by_address(tessera_cuda::address_of(kernel), grid, block, arguments,
                                         shared_bytes, stream, true, at);
}
template <class K>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, K* kernel) {
  return tessera_cuda::attributes_of(attributes, tessera_cuda::address_of(kernel));
}
template <class K>
inline cudaError_t cudaFuncSetAttribute(K* kernel, cudaFuncAttribute attribute, int value) {
  return tessera_cuda::set_attribute(tessera_cuda::address_of(kernel), attribute, value);
}
template <class K>
inline cudaError_t cudaFuncSetCacheConfig(K*, cudaFuncCache) {
  return cudaSuccess;
}
template <class K>
inline cudaError_t cudaFuncSetSharedMemConfig(K*, cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class K>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, K* kernel, int block_size,
                                                                 size_t shared_bytes) {
  return tessera_cuda::blocks_per_multiprocessor(blocks, tessera_cuda::address_of(kernel), block_size,
                                                 shared_bytes);
}
template <class K>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, K* kernel,
                                                                          int block_size, size_t shared_bytes,
                                                                          unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared_bytes);
}
template <class K>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, K* kernel,
                                                      size_t shared_bytes = 0, int limit = 0) {
  return tessera_cuda::best_block_size(grid, block, tessera_cuda::address_of(kernel), shared_bytes, nullptr,
                                       nullptr, limit);
}
template <class F, class K>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, K* kernel,
                                                                  F shared_bytes_of, int limit = 0) {
  return tessera_cuda::best_block_size(
      grid, block, tessera_cuda::address_of(kernel), 0,
      [](const void* context, int size) -> size_t { return (*static_cast<const F*>(context))(size); },
      &shared_bytes_of, limit);
}
#include "graph_calls.h"
#include "texture_calls.h"
