// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces in kernels. The runtime reads them: fetches are neither counted nor checked for
// races.
#pragma once
#include "device_functions.h"
#include "texture_calls.h"

namespace tessera_cuda {

// Up to four channels, each a float or a 32-bit integer.
struct Texel {
  union {
    float f;
    int i;
    unsigned u;
  } channel[4];
};
enum class Texture { line, plane, volume, layered_line, layered_plane };
// `wanted`: the kernel's result type. Coordinates count texels, or run from 0 to 1, as the texture says.
Texel fetch(cudaTextureObject_t texture, Texture shape, const cudaChannelFormatDesc& wanted, float x, float y,
            float z, int layer, CallSite at);
Texel fetch_element(cudaTextureObject_t texture, const cudaChannelFormatDesc& wanted, int x, CallSite at);
// Returns the object that a texture reference is bound to: the program's own variable, which a kernel does
// not read.
cudaTextureObject_t bound_to(const textureReference& texture) noexcept;
enum class Surface { line, plane, volume, layered_line, layered_plane };
// Returns null outside, where nothing is to be done.
void* surface_place(cudaSurfaceObject_t surface, Surface shape, size_t bytes, int x, int y, int z,
                    cudaSurfaceBoundaryMode mode, CallSite at);
void copy_texel(void* to, const void* from, size_t bytes) noexcept;

template <class T>
TESSERA_DEVICE T from_texel(const Texel& texel) {
  using C = typename TexelOf<T>::Channel;
  T out{};
  C* const to = reinterpret_cast<C*>(&out);
  for (size_t i = 0; i < sizeof(T) / sizeof(C); ++i) {
    if constexpr (std::is_floating_point_v<C>) to[i] = texel.channel[i].f;
    else if constexpr (std::is_signed_v<C>) to[i] = static_cast<C>(texel.channel[i].i);
    else to[i] = static_cast<C>(texel.channel[i].u);
  }
  return out;
}

// The result of a fetch through a reference: its element, or floats of it.
template <class T, int channels>
struct FloatsOf;
template <class T>
struct FloatsOf<T, 1> {
  using type = float;
};
template <class T>
struct FloatsOf<T, 2> {
  using type = float2;
};
template <class T>
struct FloatsOf<T, 4> {
  using type = float4;
};
template <class T, cudaTextureReadMode mode>
struct Fetched {
  using type = T;
};
template <class T>
struct Fetched<T, cudaReadModeNormalizedFloat>
    : FloatsOf<T, static_cast<int>(sizeof(T) / sizeof(typename TexelOf<T>::Channel))> {};

}  // namespace tessera_cuda

template <class T>
TESSERA_DEVICE T tex1Dfetch(cudaTextureObject_t texture, int x, TESSERA_AT) {
  return tessera_cuda::from_texel<T>(
      tessera_cuda::fetch_element(texture, tessera_cuda::format_of<T>(), x, at));
}
template <class T, int dimensions, cudaTextureReadMode mode>
TESSERA_DEVICE typename tessera_cuda::Fetched<T, mode>::type tex1Dfetch(
    const tessera_cuda::texture<T, dimensions, mode>& texture, int x, TESSERA_AT) {
  return tex1Dfetch<typename tessera_cuda::Fetched<T, mode>::type>(tessera_cuda::bound_to(texture), x, at);
}
#define TESSERA_UNPACK(...) __VA_ARGS__
#define TESSERA_FETCH(name, shape, parameters, arguments, coordinates)                                    \
  template <class T>                                                                                      \
  TESSERA_DEVICE T name(cudaTextureObject_t texture, TESSERA_UNPACK parameters, TESSERA_AT) {             \
    return tessera_cuda::from_texel<T>(tessera_cuda::fetch(texture, tessera_cuda::Texture::shape,         \
                                                           tessera_cuda::format_of<T>(),                  \
                                                           TESSERA_UNPACK coordinates, at));              \
  }                                                                                                       \
  template <class T, int dimensions, cudaTextureReadMode mode>                                            \
  TESSERA_DEVICE typename tessera_cuda::Fetched<T, mode>::type name(                                      \
      const tessera_cuda::texture<T, dimensions, mode>& texture, TESSERA_UNPACK parameters, TESSERA_AT) { \
    return name<typename tessera_cuda::Fetched<T, mode>::type>(tessera_cuda::bound_to(texture),           \
                                                               TESSERA_UNPACK arguments, at);             \
  }
TESSERA_FETCH(tex1D, line, (float x), (x), (x, 0, 0, 0))
TESSERA_FETCH(tex2D, plane, (float x, float y), (x, y), (x, y, 0, 0))
TESSERA_FETCH(tex3D, volume, (float x, float y, float z), (x, y, z), (x, y, z, 0))
TESSERA_FETCH(tex1DLayered, layered_line, (float x, int layer), (x, layer), (x, 0, 0, layer))
TESSERA_FETCH(tex2DLayered, layered_plane, (float x, float y, int layer), (x, y, layer), (x, y, 0, layer))
#undef TESSERA_FETCH

// Surfaces: x in bytes.
#define TESSERA_SURFACE(name, shape, parameters, coordinates)                                              \
  template <class T>                                                                                       \
  TESSERA_DEVICE T surf##name##read(cudaSurfaceObject_t surface, TESSERA_UNPACK parameters,                \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, TESSERA_AT) {     \
    T out{};                                                                                               \
    if (const void* const from = tessera_cuda::surface_place(                                              \
            surface, tessera_cuda::Surface::shape, sizeof(T), TESSERA_UNPACK coordinates, mode, at))       \
      tessera_cuda::copy_texel(&out, from, sizeof(T));                                                     \
    return out;                                                                                            \
  }                                                                                                        \
  template <class T>                                                                                       \
  TESSERA_DEVICE void surf##name##read(T* out, cudaSurfaceObject_t surface, TESSERA_UNPACK parameters,     \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, TESSERA_AT) {  \
    if (const void* const from = tessera_cuda::surface_place(                                              \
            surface, tessera_cuda::Surface::shape, sizeof(T), TESSERA_UNPACK coordinates, mode, at))       \
      tessera_cuda::copy_texel(out, from, sizeof(T));                                                      \
    else *out = T{};                                                                                       \
  }                                                                                                        \
  template <class T>                                                                                       \
  TESSERA_DEVICE void surf##name##write(T value, cudaSurfaceObject_t surface, TESSERA_UNPACK parameters,   \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, TESSERA_AT) { \
    if (void* const to = tessera_cuda::surface_place(surface, tessera_cuda::Surface::shape, sizeof(T),     \
                                                     TESSERA_UNPACK coordinates, mode, at))                \
      tessera_cuda::copy_texel(to, &value, sizeof(T));                                                     \
  }
TESSERA_SURFACE(1D, line, (int x), (x, 0, 0))
TESSERA_SURFACE(2D, plane, (int x, int y), (x, y, 0))
TESSERA_SURFACE(3D, volume, (int x, int y, int z), (x, y, z))
TESSERA_SURFACE(1DLayered, layered_line, (int x, int layer), (x, 0, layer))
TESSERA_SURFACE(2DLayered, layered_plane, (int x, int y, int layer), (x, y, layer))
#undef TESSERA_SURFACE
#undef TESSERA_UNPACK
