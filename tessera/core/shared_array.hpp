// SPDX-License-Identifier: Apache-2.0
// Arrays in memory that other processes can map, so that they need no copy of them.
#pragma once
#include <cstdint>
#include <optional>
#include "tessera/core/array.hpp"

namespace tessera {

[[nodiscard]] Array shared_array(Element element, const Extents& extents);  // row-major, zeros

// Where a byte of such an array lies: a file descriptor, which the array keeps open, and the place in that
// file.
struct SharedPlace {
  int file = -1;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // of the whole file
};
[[nodiscard]] std::optional<SharedPlace> find_shared(const void* address);

// The memory behind a file descriptor that another process has handed over; it is gone with the owner.
[[nodiscard]] std::shared_ptr<void> map_shared(int file, std::size_t bytes);

// What the system could give to such arrays now, by what it says itself; nothing where it says nothing.
std::optional<std::int64_t> memory_left();

}  // namespace tessera
