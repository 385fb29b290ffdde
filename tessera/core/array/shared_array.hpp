// SPDX-License-Identifier: Apache-2.0
// Arrays in memory that other processes can map without a copy.
#pragma once
#include <cstdint>
#include <optional>
#include "tessera/core/array/array.hpp"

namespace tessera {

[[nodiscard]] Array shared_array(Element element, const Extents& extents);  // row-major, zeros

// The location of an address in such an array: a file descriptor, which the array keeps open, and the offset
// in that file.
struct SharedMemoryLocation {
  int file = -1;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // size of the whole file
};
[[nodiscard]] std::optional<SharedMemoryLocation> find_shared(const void* address);

// Maps the memory behind a file descriptor received from another process; unmapped with its owner.
[[nodiscard]] std::shared_ptr<void> map_shared(int file, std::size_t bytes);

// Returns the memory that the system reports as available for such arrays; std::nullopt: unknown.
std::optional<std::int64_t> memory_left();

}  // namespace tessera
