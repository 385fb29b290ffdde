// SPDX-License-Identifier: Apache-2.0
// Arrays of any rank and element: ArrayView lies in somebody's memory, Array owns its own. Which
// memory, the host's or a device's, is the business of the Memory it came from.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include "tessera/core/element.hpp"

namespace tessera {

using Extents = std::vector<std::int64_t>;

// "1000 × 33"; a 0-d array is "a single value".
[[nodiscard]] std::string to_string(const Extents& extents);
// The product of the extents; throws Error when it exceeds 2^62.
[[nodiscard]] std::int64_t count_of(const Extents& extents);
// What a row-major array takes; throws Error when it exceeds 2^63 - 1.
[[nodiscard]] std::size_t bytes_of(Element element, const Extents& extents);

struct ArrayView {
  void* data = nullptr;
  Element element = Element::f32;
  Extents extents;
  Extents strides;  // in elements

  std::int64_t count() const { return count_of(extents); }
  std::size_t bytes() const { return bytes_of(element, extents); }  // of its elements, without gaps
  bool row_major() const;        // its elements lie one after another, last index fastest
  ArrayView transposed() const;  // the last two dimensions exchanged
  // The smallest interval [first, last) of element offsets that holds every element.
  std::pair<std::int64_t, std::int64_t> span() const;
};

Extents row_major_strides(const Extents& extents);

// Where bytes come from: the host, or a device of a Backend.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(std::size_t bytes) = 0;  // aligned to 256 bytes; throws Error with both sizes
  virtual void release(void* address) noexcept = 0;
};

Memory& host_memory();

class Array {
 public:
  Array() = default;
  // Row-major and uninitialised.
  Array(Element element, Extents extents, Memory& memory = host_memory());
  // Adopts bytes that `owner` keeps alive (a mapped file).
  Array(ArrayView view, std::shared_ptr<void> owner) : view_(std::move(view)), owner_(std::move(owner)) {}

  const ArrayView& view() const { return view_; }
  Element element() const { return view_.element; }
  const Extents& extents() const { return view_.extents; }
  template <class T>
  T* as() {
    return static_cast<T*>(view_.data);
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(view_.data);
  }

 private:
  ArrayView view_;
  std::shared_ptr<void> owner_;
};

// A row-major copy in host memory of a view in host memory.
[[nodiscard]] Array packed_copy(const ArrayView& from);

}  // namespace tessera
