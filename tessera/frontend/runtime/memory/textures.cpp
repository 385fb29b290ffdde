// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces. An array's rows are contiguous; fetches follow the programming guide's
// section on texture fetching, with fractions of 8 bits where they filter.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include "tessera/core/text/error.hpp"
#include "tessera/frontend/include/cuda_fp16.h"
#include "tessera/frontend/include/texture_functions.h"
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

struct cudaArray {
  cudaChannelFormatDesc format;
  cudaExtent extent;  // height and depth: at least 1
  cudaExtent requested;
  unsigned flags;
  std::size_t texel_bytes;
  char* data;

  std::size_t row_bytes() const { return extent.width * texel_bytes; }
  std::size_t slice_bytes() const { return row_bytes() * extent.height; }
  bool is_layered() const { return (flags & cudaArrayLayered) != 0; }
};

namespace tessera_cuda {
namespace {

int channels_of(const cudaChannelFormatDesc& f) {
  return f.x == 0 ? 0 : f.y == 0 ? 1 : f.z == 0 ? 2 : f.w == 0 ? 3 : 4;
}
bool is_format(const cudaChannelFormatDesc& f) {
  const int count = channels_of(f);
  const bool same = (count < 2 || f.y == f.x) && (count < 4 || (f.z == f.x && f.w == f.x));
  const bool bits =
      f.f == cudaChannelFormatKindFloat ? f.x == 16 || f.x == 32 : f.x == 8 || f.x == 16 || f.x == 32;
  return same && bits && count != 3 && f.f >= cudaChannelFormatKindSigned &&
         f.f <= cudaChannelFormatKindFloat;
}
std::size_t bytes_of(const cudaChannelFormatDesc& f) {
  return static_cast<std::size_t>(f.x / 8 * channels_of(f));
}
std::string name_of(const cudaChannelFormatDesc& f) {
  constexpr const char* kinds[] = {"int", "unsigned int", "float"};
  const std::string kind = f.f <= cudaChannelFormatKindFloat ? kinds[f.f] : "no";
  return std::to_string(channels_of(f)) + " " + kind + " of " + std::to_string(f.x) + " bits";
}

// The state of a texture or surface object.
struct Object {
  bool is_allocated = false, is_surface = false, is_linear = false;
  const char* data = nullptr;
  cudaChannelFormatDesc format = {};
  std::size_t texel_bytes = 0, width = 0, height = 0, depth = 0;
  std::size_t row = 0, slice = 0;  // pitches in bytes
  bool is_layered = false;
  cudaTextureDesc how = {};
  bool plain = false;            // a fetch returns texels unchanged
  std::uint64_t fetched_as = 0;  // the format that a kernel must request
};
std::uint64_t key_of(const cudaChannelFormatDesc& f) {
  return static_cast<std::uint64_t>(f.x | f.y << 8 | f.z << 16 | f.w << 24) | std::uint64_t{f.f} << 32;
}
// Returns all objects. A handle is an index plus 1; 0: no object. No object is written while kernels run.
std::deque<Object>& objects() {
  static auto* const all = new std::deque<Object>;
  return *all;
}
cudaTextureObject_t keep(Object object) {
  ++Runtime::get().version;
  cudaChannelFormatDesc fetched = object.format;
  const bool floats =
      object.format.f == cudaChannelFormatKindFloat || object.how.readMode == cudaReadModeNormalizedFloat;
  if (floats) {
    for (int* const bits : {&fetched.x, &fetched.y, &fetched.z, &fetched.w}) *bits = *bits == 0 ? 0 : 32;
    fetched.f = cudaChannelFormatKindFloat;
  }
  object.plain = object.format.x == 32 && object.how.readMode == cudaReadModeElementType;
  object.fetched_as = key_of(fetched);
  objects().push_back(object);
  return objects().size();
}
Object* object_at(cudaTextureObject_t handle) {
  if (handle == 0 || handle > objects().size()) return nullptr;
  Object& object = objects()[handle - 1];
  return object.is_allocated ? &object : nullptr;
}

[[noreturn]] void stop(const std::string& text, CallSite at) {
  throw tessera::Error(tessera::Error::Kind::memory,
                       text + " at " + std::string(at.file) + ":" + std::to_string(at.line));
}

cudaError_t object_of(const cudaResourceDesc& resource, Object& out) {
  out.is_allocated = true;
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const cudaArray_t array = resource.res.array.array;
      if (array == nullptr) return cudaErrorInvalidValue;
      if ((array->flags & cudaArrayCubemap) != 0) return cudaErrorNotSupported;
      out.data = array->data;
      out.format = array->format;
      out.width = array->extent.width;
      out.height = array->extent.height;
      out.depth = array->extent.depth;
      out.row = array->row_bytes();
      out.slice = array->slice_bytes();
      out.is_layered = array->is_layered();
      break;
    }
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      Array* const array = Runtime::get().array_at(linear.devPtr);
      if (array == nullptr || !is_format(linear.desc)) return cudaErrorInvalidValue;
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(linear.devPtr) - array->data);
      out.is_linear = true;
      out.data = static_cast<const char*>(linear.devPtr);
      out.format = linear.desc;
      out.width = std::min(linear.sizeInBytes, array->bytes - offset) / bytes_of(linear.desc);
      out.height = out.depth = 1;
      break;
    }
    case cudaResourceTypePitch2D: {
      const auto& plane = resource.res.pitch2D;
      Array* const array = Runtime::get().array_at(plane.devPtr);
      if (array == nullptr || !is_format(plane.desc) || plane.height == 0) return cudaErrorInvalidValue;
      const auto offset = static_cast<std::size_t>(static_cast<const char*>(plane.devPtr) - array->data);
      const std::size_t width_bytes = plane.width * bytes_of(plane.desc);
      if (width_bytes > plane.pitchInBytes ||
          plane.pitchInBytes * (plane.height - 1) + width_bytes > array->bytes - offset)
        return cudaErrorInvalidValue;
      out.data = static_cast<const char*>(plane.devPtr);
      out.format = plane.desc;
      out.width = plane.width;
      out.height = plane.height;
      out.depth = 1;
      out.row = plane.pitchInBytes;
      break;
    }
    default:
      return cudaErrorNotSupported;
  }
  out.texel_bytes = bytes_of(out.format);
  return cudaSuccess;
}

// Checks that the hardware allows this filtering and conversion.
cudaError_t check(const Object& object) {
  const bool floats = object.format.f == cudaChannelFormatKindFloat;
  const bool to_floats = object.how.readMode == cudaReadModeNormalizedFloat;
  if (object.how.filterMode == cudaFilterModeLinear && !floats && !to_floats) return cudaErrorInvalidValue;
  if (to_floats && (floats || object.format.x == 32)) return cudaErrorInvalidValue;
  return cudaSuccess;
}

// The two texels that contribute along one axis (-1: the border), and the weight of the second.
struct Along {
  std::int64_t first, second;
  float share;
};
std::int64_t in_range(std::int64_t i, std::int64_t n, cudaTextureAddressMode mode) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case cudaAddressModeBorder:
      return -1;
    case cudaAddressModeWrap:
      return (i % n + n) % n;
    default:  // a mirrored coordinate is at most half a texel outside
      return std::clamp<std::int64_t>(i, 0, n - 1);
  }
}
Along along(float x, std::size_t count, cudaTextureAddressMode mode, const cudaTextureDesc& how) {
  const auto n = static_cast<std::int64_t>(count);
  const bool normalized = how.normalizedCoords != 0;
  // Wrap and mirror are for coordinates from 0 to 1.
  if (!normalized && mode != cudaAddressModeBorder) mode = cudaAddressModeClamp;
  if (mode == cudaAddressModeWrap) x -= std::floor(x);
  if (mode == cudaAddressModeMirror) {
    const float whole = std::floor(x);
    x -= whole;
    if (std::fmod(whole, 2.0F) != 0) x = 1 - x;
  }
  if (normalized) x *= static_cast<float>(n);
  if (std::isnan(x)) x = 0;
  x = std::clamp(x, -1e9F, 1e9F);
  if (how.filterMode == cudaFilterModePoint) {
    const auto i = static_cast<std::int64_t>(std::floor(x));
    return {in_range(i, n, mode), 0, 0};
  }
  const float base = std::floor(x - 0.5F);
  const float share = std::floor((x - 0.5F - base) * 256 + 0.5F) / 256;
  const auto i = static_cast<std::int64_t>(base);
  return {in_range(i, n, mode), in_range(i + 1, n, mode), share};
}

// Reads a texel: integers unchanged and floats as floats or, normalized, all as floats from -1 or 0 to 1.
Texel read(const Object& object, const char* from) {
  Texel out{};
  if (object.plain) {
    std::memcpy(&out, from, object.texel_bytes);
    return out;
  }
  const auto channel_bytes = static_cast<std::size_t>(object.format.x / 8);
  const bool to_floats = object.how.readMode == cudaReadModeNormalizedFloat;
  for (int c = 0; c < channels_of(object.format); ++c, from += channel_bytes) {
    auto& to = out.channel[c];
    if (object.format.f == cudaChannelFormatKindFloat) {
      if (object.format.x == 32) std::memcpy(&to.f, from, 4);
      else {
        __half half;
        std::memcpy(&half, from, 2);
        to.f = __half2float(half);
      }
      continue;
    }
    const bool is_signed = object.format.f == cudaChannelFormatKindSigned;
    std::uint32_t word = 0;
    std::memcpy(&word, from, channel_bytes);
    const int unused = 32 - object.format.x;
    to.u = word;
    if (is_signed) to.i = static_cast<std::int32_t>(word << unused) >> unused;
    if (!to_floats) continue;
    const float most = static_cast<float>((1U << (object.format.x - (is_signed ? 1 : 0))) - 1);
    to.f = is_signed ? std::max(static_cast<float>(to.i) / most, -1.0F) : static_cast<float>(to.u) / most;
  }
  return out;
}

Texel texel(const Object& object, std::int64_t x, std::int64_t y, std::int64_t z) {
  if (x < 0 || y < 0 || z < 0) {
    Texel border{};
    const bool floats =
        object.format.f == cudaChannelFormatKindFloat || object.how.readMode == cudaReadModeNormalizedFloat;
    for (int c = 0; c < 4; ++c)
      if (floats) border.channel[c].f = object.how.borderColor[c];
    return border;
  }
  return read(object, object.data + static_cast<std::size_t>(x) * object.texel_bytes +
                          static_cast<std::size_t>(y) * object.row +
                          static_cast<std::size_t>(z) * object.slice);
}

const Object& texture_at(cudaTextureObject_t handle, const cudaChannelFormatDesc& wanted, CallSite at) {
  const Object* const object = object_at(handle);
  if (object == nullptr || object->is_surface) stop("a fetch from what is no texture", at);
  if (key_of(wanted) != object->fetched_as)
    stop("a fetch of " + name_of(wanted) + " from a texture of " + name_of(object->format) +
             (object->how.readMode == cudaReadModeNormalizedFloat ? ", read as float" : ""),
         at);
  return *object;
}

}  // namespace

cudaTextureObject_t bound_to(const textureReference& texture) noexcept { return texture.tessera_bound; }

Texel fetch_element(cudaTextureObject_t handle, const cudaChannelFormatDesc& wanted, int x, CallSite at) {
  const Object& object = texture_at(handle, wanted, at);
  if (!object.is_linear) stop("tex1Dfetch from a texture that is no linear memory", at);
  const bool inside = x >= 0 && static_cast<std::size_t>(x) < object.width;
  return inside ? texel(object, x, 0, 0) : Texel{};
}

Texel fetch(cudaTextureObject_t handle, Texture shape, const cudaChannelFormatDesc& wanted, float x, float y,
            float z, int layer, CallSite at) {
  const Object& object = texture_at(handle, wanted, at);
  const bool layered = shape == Texture::layered_line || shape == Texture::layered_plane;
  if (object.is_linear) stop("linear memory is read with tex1Dfetch", at);
  if (layered != object.is_layered)
    stop(layered ? "a fetch of a layer from a texture without layers" : "a fetch without a layer", at);
  const bool has_y = shape == Texture::plane || shape == Texture::layered_plane || shape == Texture::volume;
  const auto& modes = object.how.addressMode;
  const Along none = {0, 0, 0};
  const Along ax = along(x, object.width, modes[0], object.how);
  const Along ay = has_y ? along(y, object.height, modes[1], object.how) : none;
  Along az = shape == Texture::volume ? along(z, object.depth, modes[2], object.how) : none;
  if (layered) az = {std::clamp<std::int64_t>(layer, 0, static_cast<std::int64_t>(object.depth) - 1), 0, 0};
  if (object.how.filterMode == cudaFilterModePoint) return texel(object, ax.first, ay.first, az.first);
  Texel sum{};
  for (int corner = 0; corner < 8; ++corner) {
    const bool right = (corner & 1) != 0, below = (corner & 2) != 0, behind = (corner & 4) != 0;
    const float share = (right ? ax.share : 1 - ax.share) * (below ? ay.share : 1 - ay.share) *
                        (behind ? az.share : 1 - az.share);
    if (share == 0) continue;
    const Texel of = texel(object, right ? ax.second : ax.first, below ? ay.second : ay.first,
                           behind ? az.second : az.first);
    for (int c = 0; c < 4; ++c) sum.channel[c].f += share * of.channel[c].f;
  }
  return sum;
}

void* surface_place(cudaSurfaceObject_t handle, Surface shape, std::size_t bytes, int x, int y, int z,
                    cudaSurfaceBoundaryMode mode, CallSite at) {
  const Object* const object = object_at(handle);
  if (object == nullptr || !object->is_surface) stop("an access to what is no surface", at);
  const bool layered = shape == Surface::layered_line || shape == Surface::layered_plane;
  if (layered != object->is_layered) stop("the surface's array has layers, or the access, but not both", at);
  if (bytes != object->texel_bytes || x % static_cast<int>(bytes) != 0)
    stop("a surface of elements of " + std::to_string(object->texel_bytes) + " bytes: an access of " +
             std::to_string(bytes) + " bytes at byte " + std::to_string(x) + " of a row",
         at);
  int index[] = {x / static_cast<int>(bytes), y, z};
  const std::size_t extents[] = {object->width, object->height, object->depth};
  for (int d = 0; d < 3; ++d) {
    const int last = static_cast<int>(extents[d]) - 1;
    if (index[d] >= 0 && index[d] <= last) continue;
    if (mode == cudaBoundaryModeTrap)
      stop("an access outside of a surface of " + std::to_string(object->width) + " x " +
               std::to_string(object->height) + " x " + std::to_string(object->depth) + " elements: at (" +
               std::to_string(index[0]) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")",
           at);
    if (mode == cudaBoundaryModeZero) return nullptr;
    index[d] = std::clamp(index[d], 0, last);
  }
  return const_cast<char*>(object->data) + static_cast<std::size_t>(index[0]) * bytes +
         static_cast<std::size_t>(index[1]) * object->row +
         static_cast<std::size_t>(index[2]) * object->slice;
}

void copy_texel(void* to, const void* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }

void forget_unread_textures() {
  for (const Object& object : objects())
    if (object.is_allocated)
      if (Array* const array = Runtime::get().array_at(object.data)) array->unread_since.reset();
}

cudaError_t allocate_array(const char* text, cudaArray_t* array, const cudaChannelFormatDesc& format,
                           cudaExtent extent, unsigned flags, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (!is_format(format)) return r.fail(cudaErrorInvalidChannelDescriptor);
  if (array == nullptr || extent.width == 0) return r.fail(cudaErrorInvalidValue);
  cudaExtent real = extent;
  real.height = std::max<std::size_t>(1, extent.height);
  real.depth = std::max<std::size_t>(1, extent.depth);
  const std::size_t texel_bytes = bytes_of(format);
  void* data = nullptr;
  const cudaError_t error = allocate(text, &data, real.width * real.height * real.depth * texel_bytes,
                                     static_cast<std::size_t>(format.x / 8), Memory::device, at);
  if (error != cudaSuccess) return error;
  *array = new cudaArray{format, real, extent, flags, texel_bytes, static_cast<char*>(data)};
  return cudaSuccess;
}

cudaError_t bind(textureReference& texture, const cudaResourceDesc& resource, std::size_t* offset) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  cudaUnbindTexture(texture);
  Object object;
  if (const cudaError_t error = object_of(resource, object); error != cudaSuccess) return r.fail(error);
  object.how.normalizedCoords = texture.normalized;
  object.how.filterMode = texture.filterMode;
  std::ranges::copy(texture.addressMode, object.how.addressMode);
  object.how.readMode = texture.tessera_read;
  if (const cudaError_t error = check(object); error != cudaSuccess) return r.fail(error);
  texture.tessera_bound = keep(object);
  texture.channelDesc = object.format;
  if (offset != nullptr) *offset = 0;
  return cudaSuccess;
}

}  // namespace tessera_cuda

using tessera_cuda::CallSite;
using tessera_cuda::Lock;
using tessera_cuda::Object;
using tessera_cuda::Runtime;

cudaError_t cudaFreeArray(cudaArray_t array, CallSite at) {
  if (array == nullptr) return cudaSuccess;
  const cudaError_t error = cudaFree(array->data, at);
  delete array;
  return error;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
  if (array == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->requested;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  return cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind, CallSite at) {
  if (to == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  return tessera_cuda::copy(to->data + y * to->row_bytes() + x, bytes, from, bytes, bytes, 1, kind,
                            "cudaMemcpyToArray", at);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind, CallSite at) {
  if (from == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  return tessera_cuda::copy(to, bytes, from->data + y * from->row_bytes() + x, bytes, bytes, 1, kind,
                            "cudaMemcpyFromArray", at);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind, CallSite at) {
  if (to == nullptr || x + width > to->row_bytes() || y + height > to->extent.height)
    return Runtime::get().fail(cudaErrorInvalidValue);
  return tessera_cuda::copy(to->data + y * to->row_bytes() + x, to->row_bytes(), from, pitch, width, height,
                            kind, "cudaMemcpy2DToArray", at);
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind, CallSite at) {
  if (from == nullptr || x + width > from->row_bytes() || y + height > from->extent.height)
    return Runtime::get().fail(cudaErrorInvalidValue);
  return tessera_cuda::copy(to, pitch, from->data + y * from->row_bytes() + x, from->row_bytes(), width,
                            height, kind, "cudaMemcpy2DFromArray", at);
}

namespace {

// An end of a copy of slices. Positions and the extent's width count an array's elements, else bytes.
struct Slices {
  char* first = nullptr;
  std::size_t pitch = 0, slice = 0;
  bool fits = true;
};
Slices slices_of(cudaArray_t array, const cudaPos& at, const cudaPitchedPtr& linear, const cudaExtent& extent,
                 std::size_t element) {
  if (array == nullptr) {
    const std::size_t slice = linear.pitch * (linear.ysize == 0 ? extent.height : linear.ysize);
    return {static_cast<char*>(linear.ptr) + at.z * slice + at.y * linear.pitch + at.x, linear.pitch, slice,
            linear.ptr != nullptr && at.x + extent.width * element <= linear.pitch};
  }
  return {array->data + at.z * array->slice_bytes() + at.y * array->row_bytes() + at.x * array->texel_bytes,
          array->row_bytes(), array->slice_bytes(),
          at.x + extent.width <= array->extent.width && at.y + extent.height <= array->extent.height &&
              at.z + extent.depth <= array->extent.depth};
}

}  // namespace

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* of, CallSite at) {
  if (of == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  const cudaArray_t array = of->srcArray != nullptr ? of->srcArray : of->dstArray;
  const std::size_t element = array == nullptr ? 1 : array->texel_bytes;
  const Slices from = slices_of(of->srcArray, of->srcPos, of->srcPtr, of->extent, element);
  const Slices to = slices_of(of->dstArray, of->dstPos, of->dstPtr, of->extent, element);
  if (!from.fits || !to.fits) return Runtime::get().fail(cudaErrorInvalidValue);
  for (std::size_t z = 0; z < of->extent.depth; ++z) {
    const cudaError_t error =
        tessera_cuda::copy(to.first + z * to.slice, to.pitch, from.first + z * from.slice, from.pitch,
                           of->extent.width * element, of->extent.height, of->kind, "cudaMemcpy3D", at);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* how, const cudaResourceViewDesc* view) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (object == nullptr || resource == nullptr || how == nullptr) return r.fail(cudaErrorInvalidValue);
  if (view != nullptr || how->sRGB != 0) return r.fail(cudaErrorNotSupported);
  Object made;
  if (const cudaError_t error = tessera_cuda::object_of(*resource, made); error != cudaSuccess)
    return r.fail(error);
  made.how = *how;
  if (const cudaError_t error = tessera_cuda::check(made); error != cudaSuccess) return r.fail(error);
  *object = tessera_cuda::keep(made);
  return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t handle) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  Object* const object = tessera_cuda::object_at(handle);
  if (object == nullptr) return r.fail(cudaErrorInvalidValue);
  object->is_allocated = false;
  ++r.version;
  return cudaSuccess;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (object == nullptr || resource == nullptr || resource->resType != cudaResourceTypeArray)
    return r.fail(cudaErrorInvalidValue);
  Object made;
  if (const cudaError_t error = tessera_cuda::object_of(*resource, made); error != cudaSuccess)
    return r.fail(error);
  if ((resource->res.array.array->flags & cudaArraySurfaceLoadStore) == 0)
    return r.fail(cudaErrorInvalidValue);
  made.is_surface = true;
  // Writes of kernels to a surface are not observed.
  if (tessera_cuda::Array* const array = r.array_at(made.data)) tessera_cuda::release_marks(*array);
  *object = tessera_cuda::keep(made);
  return cudaSuccess;
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t handle) { return cudaDestroyTextureObject(handle); }

cudaError_t cudaUnbindTexture(textureReference& texture) {
  if (texture.tessera_bound == 0) return cudaSuccess;
  const cudaError_t error = cudaDestroyTextureObject(texture.tessera_bound);
  texture.tessera_bound = 0;
  return error;
}
