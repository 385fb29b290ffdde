// SPDX-License-Identifier: Apache-2.0
// Detects arrays that share memory: an input that an output overlaps would be read after it is overwritten or
// poisoned.
#pragma once
#include <optional>
#include <span>
#include <utility>
#include "tessera/core/operation/arguments.hpp"

namespace tessera {

// Addresses from `first` on, up to but without `last`.
struct ByteRange {
  std::uintptr_t first = 0, last = 0;

  bool operator<(const ByteRange& other) const { return first < other.first; }
  bool intersects(const ByteRange& other) const { return first < other.last && other.first < last; }
};

// Returns the largest power of two, up to the 128 bytes of a cache line, that divides the address.
inline void* alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | 128;
  return reinterpret_cast<void*>(address & ~(address - 1));
}

// Exact if the elements of each innermost row are contiguous; otherwise an entire row counts. Parts of one
// matrix that lie side by side do not overlap.
bool overlap(const ArrayView& a, const ArrayView& b);

// True if two elements of it share memory, because strides are too small.
bool overlaps_itself(const ArrayView& view);

// A call's access to an array, among calls that run at the same time.
struct Access {
  ArrayView view;
  bool written = false;
  std::size_t call = 0;
};
// Returns two accesses of different calls, the first of which writes memory that the other reads or writes;
// nullopt: none. It is exact like overlap(), so arrays may be interleaved row by row. Takes O(n log n) for n
// arrays, and O(r log r) for the r rows of interleaved ones.
std::optional<std::pair<std::size_t, std::size_t>> find_conflict(std::span<const Access> accesses);

// Throws Error if a given array has elements but no data, or is not aligned to them; outputs may have no
// data.
void check_data(const Arguments& arguments);

// Throws Error if an output shares memory with an input, with another output or with itself. `in_place` may
// coincide exactly with the output, element on element.
void refuse_overlaps(const Arguments& host, const std::string& in_place = {});

}  // namespace tessera
