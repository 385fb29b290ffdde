// SPDX-License-Identifier: Apache-2.0
// Copies between pageable host memory and a device. The copy engine needs pinned pages, so the bytes pass
// through two pinned buffers: the CPU fills or empties one while the copy engine works on the other.
#pragma once
#include <array>
#include <cstddef>
#include <mutex>
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {

class Staging {  // for the device that is current at construction and in all calls
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{32} << 20;

  // On return `from` may be reused; the copy completes in stream order.
  void upload(cudaStream_t stream, void* to, const void* from, std::size_t bytes);
  // On return `to` holds the bytes.
  void download(cudaStream_t stream, void* to, const void* from, std::size_t bytes);

 private:
  struct Slot {
    PinnedBuffer memory{chunk_bytes};
    Event idle;  // reached when the engine no longer uses the memory
  };
  std::array<Slot, 2> slots_;
  std::mutex mutex_;
};

}  // namespace tessera::cuda
