// SPDX-License-Identifier: Apache-2.0
// Arrays of any rank and element: ArrayView refers to memory that others own, Array owns its own. The memory,
// the host's or a device's, is allocated by a Memory.
#pragma once
#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <vector>
#include "tessera/core/array/element.hpp"

namespace tessera {

// Extents or strides, one for each dimension. Up to `inline_rank` of them need no allocation.
class Extents {
 public:
  using value_type = std::int64_t;
  using iterator = std::int64_t*;
  using const_iterator = const std::int64_t*;
  static constexpr std::size_t inline_rank = 6;

  Extents() = default;
  explicit Extents(std::size_t count, std::int64_t value = 0) { resize(count, value); }
  Extents(std::initializer_list<std::int64_t> values) : Extents(values.begin(), values.end()) {}
  template <std::input_iterator Iterator>
  Extents(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return large_.empty() ? small_.data() : large_.data(); }
  iterator end() { return begin() + size_; }
  const_iterator begin() const { return large_.empty() ? small_.data() : large_.data(); }
  const_iterator end() const { return begin() + size_; }
  std::int64_t& operator[](std::size_t dimension) { return begin()[dimension]; }
  std::int64_t operator[](std::size_t dimension) const { return begin()[dimension]; }
  std::int64_t& back() { return end()[-1]; }
  std::int64_t back() const { return end()[-1]; }

  void resize(std::size_t count, std::int64_t value = 0);
  void push_back(std::int64_t value) { resize(size_ + 1, value); }
  void pop_back() { resize(size_ - 1); }
  void insert_front(std::int64_t value);
  void erase_front();

  friend bool operator==(const Extents& a, const Extents& b) { return std::ranges::equal(a, b); }
  friend auto operator<=>(const Extents& a, const Extents& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::size_t size_ = 0;
  std::array<std::int64_t, inline_rank> small_{};
  std::vector<std::int64_t> large_;  // all of them if there are more than inline_rank
};

// Returns "1000 × 33"; a 0-d array is "a single value".
[[nodiscard]] std::string to_string(const Extents& extents);
// Returns the product of the extents; throws Error when it exceeds 2^62.
[[nodiscard]] std::int64_t count_of(const Extents& extents);
// Returns the size of a row-major array; throws Error when it exceeds 2^63 - 1.
[[nodiscard]] std::size_t bytes_of(Element element, const Extents& extents);

struct ArrayView {
  void* data = nullptr;
  Element element = Element::f32;
  Extents extents;
  Extents strides;  // in elements

  std::int64_t count() const { return count_of(extents); }
  std::size_t bytes() const { return bytes_of(element, extents); }  // the elements alone, without gaps
  bool row_major() const;        // elements are contiguous, last index fastest
  ArrayView transposed() const;  // the last two dimensions exchanged
  // Returns the smallest interval [first, last) of element offsets that holds every element.
  std::pair<std::int64_t, std::int64_t> span() const;
};

Extents row_major_strides(const Extents& extents);

// Allocator for host memory or for the memory of one of a Backend's devices.
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

// Returns a row-major copy in host memory of a view in host memory.
[[nodiscard]] Array packed_copy(const ArrayView& from);

}  // namespace tessera
