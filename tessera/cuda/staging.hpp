// SPDX-License-Identifier: Apache-2.0
// Copies between pageable host memory and a device. The copy engine reaches pinned pages only, so
// the bytes pass through two pinned buffers: the host's processors fill or empty one while the
// engine works on the other.
#pragma once
#include <array>
#include <cstddef>
#include <mutex>
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {

class Staging {  // of the device that is current when it is made, and in its calls
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{32} << 20;

  // On return `from` may be used again; the copy is complete in the order of the stream.
  void upload(cudaStream_t stream, void* to, const void* from, std::size_t bytes);
  // On return `to` holds the bytes.
  void download(cudaStream_t stream, void* to, const void* from, std::size_t bytes);

 private:
  struct Slot {
    PinnedBuffer memory{chunk_bytes};
    Event idle;  // reached when the engine is done with the memory
  };
  std::array<Slot, 2> slots_;
  std::mutex mutex_;
};

}  // namespace tessera::cuda
