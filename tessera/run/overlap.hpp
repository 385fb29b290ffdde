// SPDX-License-Identifier: Apache-2.0
// Whether two arrays share memory: an output that lies where an input does would be read after it is
// written, or poisoned before it is read.
#pragma once
#include <optional>
#include <span>
#include <utility>
#include "tessera/core/arguments.hpp"

namespace tessera {

// Addresses from `first` on, `last` excluded.
struct ByteRange {
  std::uintptr_t first = 0, last = 0;

  bool operator<(const ByteRange& other) const { return first < other.first; }
  bool meets(const ByteRange& other) const { return first < other.last && other.first < last; }
};

// The largest power of two, up to the 128 bytes of a cache line, that the address is a multiple of.
inline void* alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | 128;
  return reinterpret_cast<void*>(address & ~(address - 1));
}

// Exact where the elements of each innermost row lie next to each other; else a row counts as a whole.
// Parts of one matrix that lie side by side do not overlap.
bool overlap(const ArrayView& a, const ArrayView& b);

// Whether two elements of it share memory, by strides that are too small.
bool overlaps_itself(const ArrayView& view);

// What many calls that run at the same time do to an array.
struct Access {
  ArrayView view;
  bool written = false;
  std::size_t call = 0;
};
// Two accesses of different calls, the first of which writes what the other reads or writes; nothing where
// there are none. Exact as overlap() is: arrays may lie between each other's rows. n arrays take O(n log n),
// where some lie so O(r log r) of all their rows.
std::optional<std::pair<std::size_t, std::size_t>> clash(std::span<const Access> accesses);

// Throws Error where an array that is given has elements but no data, or is not aligned to them; outputs may
// have none.
void check_data(const Arguments& arguments);

// Throws Error where an output shares memory with an input, with another output or with itself. `in_place`
// may lie exactly where the output does, element on element.
void refuse_overlaps(const Arguments& host, const std::string& in_place = {});

}  // namespace tessera
