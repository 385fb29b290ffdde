// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces, as the host makes them and copies to them.
#pragma once
#include <type_traits>
#include <utility>
#include "cuda_runtime_api.h"
#include "texture_types.h"

namespace tessera_cuda {

// The channel type of a texel: a scalar, or a member of a vector type.
template <class T, class = void>
struct TexelOf {
  using Channel = T;
};
template <class T>
struct TexelOf<T, std::void_t<decltype(std::declval<T&>().x)>> {
  using Channel = std::remove_reference_t<decltype(std::declval<T&>().x)>;
};
template <class T>
constexpr cudaChannelFormatDesc format_of() {
  using C = typename TexelOf<T>::Channel;
  constexpr int bits = static_cast<int>(8 * sizeof(C)), count = static_cast<int>(sizeof(T) / sizeof(C));
  return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,
          std::is_floating_point_v<C> ? cudaChannelFormatKindFloat
          : std::is_signed_v<C>       ? cudaChannelFormatKindSigned
                                      : cudaChannelFormatKindUnsigned};
}

cudaError_t allocate_array(const char* text, cudaArray_t* array, const cudaChannelFormatDesc& format,
                           cudaExtent extent, unsigned flags, CallSite at);
cudaError_t bind(textureReference& texture, const cudaResourceDesc& resource, size_t* offset);

struct NamedArray {
  const char* text;
  CallSite at;
  cudaError_t flat(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height = 0,
                   unsigned flags = 0) const {
    return allocate_array(text, array, *format, {width, height, 0}, flags, at);
  }
  cudaError_t deep(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                   unsigned flags = 0) const {
    return allocate_array(text, array, *format, extent, flags, at);
  }
};
inline NamedArray named_array(const char* text, CallSite at = CallSite::current()) { return {text, at}; }

}  // namespace tessera_cuda

template <class T>
inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  return tessera_cuda::format_of<T>();
}
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
#define cudaMallocArray(array, ...) tessera_cuda::named_array(#array).flat(array, __VA_ARGS__)
#define cudaMalloc3DArray(array, ...) tessera_cuda::named_array(#array).deep(array, __VA_ARGS__)
cudaError_t cudaFreeArray(cudaArray_t array, tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array);

// The offset x is in bytes, y in rows.
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind,
                              tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind,
                                tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind,
                                tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind,
                                  tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy,
                         tessera_cuda::CallSite at = tessera_cuda::CallSite::current());
inline cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                                          tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  if (const cudaError_t error = tessera_cuda::refuse_in_capture(stream)) return error;
  return cudaMemcpyToArray(to, x, y, from, bytes, kind, at);
}
inline cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                            size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                            cudaStream_t stream = nullptr,
                                            tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  if (const cudaError_t error = tessera_cuda::refuse_in_capture(stream)) return error;
  return cudaMemcpy2DToArray(to, x, y, from, pitch, width, height, kind, at);
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream = nullptr,
                                     tessera_cuda::CallSite at = tessera_cuda::CallSite::current()) {
  if (const cudaError_t error = tessera_cuda::refuse_in_capture(stream)) return error;
  return cudaMemcpy3D(copy, at);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);

cudaError_t cudaUnbindTexture(textureReference& texture);
inline cudaError_t cudaUnbindTexture(textureReference* texture) { return cudaUnbindTexture(*texture); }
inline cudaError_t cudaBindTexture(size_t* offset, textureReference& texture, const void* pointer,
                                   const cudaChannelFormatDesc& format, size_t bytes = UINT_MAX) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void*>(pointer);
  resource.res.linear.desc = format;
  resource.res.linear.sizeInBytes = bytes;
  return tessera_cuda::bind(texture, resource, offset);
}
template <class T, int dimensions, cudaTextureReadMode mode>
inline cudaError_t cudaBindTexture(size_t* offset, tessera_cuda::texture<T, dimensions, mode>& texture,
                                   const void* pointer, size_t bytes = UINT_MAX) {
  return cudaBindTexture(offset, static_cast<textureReference&>(texture), pointer,
                         tessera_cuda::format_of<T>(), bytes);
}
inline cudaError_t cudaBindTexture2D(size_t* offset, textureReference& texture, const void* pointer,
                                     const cudaChannelFormatDesc& format, size_t width, size_t height,
                                     size_t pitch) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = const_cast<void*>(pointer);
  resource.res.pitch2D.desc = format;
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  return tessera_cuda::bind(texture, resource, offset);
}
template <class T, int dimensions, cudaTextureReadMode mode>
inline cudaError_t cudaBindTexture2D(size_t* offset, tessera_cuda::texture<T, dimensions, mode>& texture,
                                     const void* pointer, size_t width, size_t height, size_t pitch) {
  return cudaBindTexture2D(offset, static_cast<textureReference&>(texture), pointer,
                           tessera_cuda::format_of<T>(), width, height, pitch);
}
inline cudaError_t cudaBindTextureToArray(textureReference& texture, cudaArray_const_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = const_cast<cudaArray_t>(array);
  return tessera_cuda::bind(texture, resource, nullptr);
}
inline cudaError_t cudaBindTextureToArray(textureReference& texture, cudaArray_const_t array,
                                          const cudaChannelFormatDesc&) {
  return cudaBindTextureToArray(texture, array);
}
