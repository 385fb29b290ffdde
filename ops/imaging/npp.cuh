// SPDX-License-Identifier: Apache-2.0
// NPP's filters, loaded at first use through declarations of our own, so that the build needs neither NPP's
// headers nor its library.
#pragma once
#include <cstddef>
#include <string>
#include "ops/imaging/image_operation.hpp"
#include "tessera/baseline.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/dynamic_library.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::imaging::npp {

struct Size {
  int width, height;
};
struct Point {
  int x, y;
};
struct StreamContext {
  cudaStream_t stream;
  int device, multiprocessors, threads_per_multiprocessor, threads_per_block;
  std::size_t shared_bytes;
  int capability_major, capability_minor;
  unsigned flags;
  int reserved;
};

// Values of NPP's own enumerations. Masks: of 3 × 3, 5 × 5 … 15 × 15 taps.
constexpr int masks[] = {200, 201, 400, 500, 600, 700, 800}, border_replicate = 2;

// Source, its pitch in bytes, its size, the region's offset; result, its pitch, the region's size; mask,
// border.
using Filter = int(const void*, int, Size, Point, void*, int, Size, int, int, StreamContext);

class Library {
 public:
  explicit Library(const std::string& stem)
      : stem_(stem), file_({stem + ".so.13", stem + ".so.12"}, cuda::toolkit_folders) {}
  Reason missing() const {
    if (file_.found()) return std::nullopt;
    return "NPP was not found (" + stem_ + ".so.13 or .12)";
  }
  template <class F>
  F* function(const std::string& name) const {
    return file_.function(name);
  }

 private:
  std::string stem_;
  cuda::DynamicLibrary file_;
};

inline const Library& filters() {
  static const Library loaded("libnppif");
  return loaded;
}

inline int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  cuda::check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

inline StreamContext context_of(const Run& run) {
  const int device = run.device->index;
  StreamContext out = {};
  out.stream = static_cast<cudaStream_t>(run.stream);
  out.device = device;
  out.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
  out.threads_per_multiprocessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, device);
  out.threads_per_block = attribute(cudaDevAttrMaxThreadsPerBlock, device);
  out.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlock, device));
  out.capability_major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  out.capability_minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
  return out;
}

inline void check(int status) {
  if (status != 0) throw Error(Error::Kind::internal, "NPP: status " + std::to_string(status));
}

template <class T>
int pitch_of(std::int64_t samples) {
  return static_cast<int>(samples * static_cast<std::int64_t>(sizeof(T)));
}

template <template <class> class Problem>
Reason refuses_gaps(const Arguments& arguments) {
  Reason out;
  with_problem<Problem>(arguments, [&out](const auto& p) {
    if (!p.packed()) out = "is for pixels side by side";
  });
  return out;
}

}  // namespace tessera::imaging::npp
