// SPDX-License-Identifier: Apache-2.0
// A block of a device's memory.
#pragma once
#include "tessera/core/lanes.hpp"

namespace tessera {

class LaneMemory {
 public:
  LaneMemory(Lanes& lanes, std::size_t bytes)
      : lanes_(&lanes), data_(bytes == 0 ? nullptr : lanes.allocate(bytes)), bytes_(bytes) {}
  ~LaneMemory() {
    if (data_ != nullptr) lanes_->free(data_);
  }
  LaneMemory(const LaneMemory&) = delete;
  LaneMemory& operator=(const LaneMemory&) = delete;
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Lanes* lanes_;
  void* data_;
  std::size_t bytes_;
};

}  // namespace tessera
