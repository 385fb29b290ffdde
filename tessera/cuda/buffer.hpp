// SPDX-License-Identifier: Apache-2.0
// Owners of memory: on the current device, and on the host in pages that the device's copy engine
// can reach. Empty buffers have no address.
#pragma once
#include <cstddef>
#include <memory>
#include "tessera/cuda/check.hpp"

namespace tessera::cuda {

namespace detail {
struct FreeDevice {
  void operator()(void* address) const noexcept { (void)cudaFree(address); }
};
struct FreePinned {
  void operator()(void* address) const noexcept { (void)cudaFreeHost(address); }
};
}  // namespace detail

// Throws Error with the bytes wanted and the bytes free. The current device's; cudaFree releases.
void* allocate_device(std::size_t bytes);

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : memory_(allocate_device(bytes)), bytes_(bytes) {}
  void* get() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, detail::FreeDevice> memory_;
  std::size_t bytes_ = 0;
};

class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    memory_.reset(memory);
  }
  void* get() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, detail::FreePinned> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace tessera::cuda
