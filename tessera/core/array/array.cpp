// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/array/array.hpp"
#include <sys/mman.h>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tessera {
namespace {

class HostMemory final : public Memory {
 public:
  // Allocates memory. Large arrays are aligned to huge pages of 2 MiB if the system has them: a traversal
  // then has 512 times fewer TLB misses, and the first touch as many times fewer page faults.
  void* allocate(std::size_t bytes) override {
    constexpr std::size_t least = 256, page = std::size_t{2} << 20, large = 2 * page;
    const std::size_t alignment = bytes >= large ? page : least;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* const address =
        rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    if (address == nullptr) throw Error("the host cannot give " + std::to_string(bytes) + " bytes of memory");
#if defined(MADV_HUGEPAGE)
    if (bytes >= large) madvise(address, rounded, MADV_HUGEPAGE);  // only for speed: a refusal is ignored
#endif
    return address;
  }
  void release(void* address) noexcept override { std::free(address); }
};

// Copies `from`, dimension after dimension, to consecutive elements at `to`.
char* pack(const ArrayView& from, std::size_t dimension, const char* at, char* to) {
  const std::size_t size = size_of(from.element);
  if (dimension == from.extents.size()) {
    std::memcpy(to, at, size);
    return to + size;
  }
  const std::int64_t stride = from.strides[dimension], extent = from.extents[dimension];
  if (dimension + 1 == from.extents.size() && stride == 1) {
    const std::size_t bytes = size * static_cast<std::size_t>(extent);
    if (bytes != 0) std::memcpy(to, at, bytes);
    return to + bytes;
  }
  for (std::int64_t i = 0; i < extent; ++i)
    to = pack(from, dimension + 1, at + i * stride * static_cast<std::int64_t>(size), to);
  return to;
}

}  // namespace

void Extents::resize(std::size_t count, std::int64_t value) {
  if (count > inline_rank) {
    if (large_.empty()) large_.assign(begin(), end());
    large_.resize(count, value);
  } else {
    if (!large_.empty()) {
      std::copy_n(large_.begin(), count, small_.begin());
      large_.clear();
    }
    if (count > size_) std::fill(small_.begin() + size_, small_.begin() + count, value);
  }
  size_ = count;
}

void Extents::insert_front(std::int64_t value) {
  push_back(value);
  std::rotate(begin(), end() - 1, end());
}

void Extents::erase_front() {
  std::rotate(begin(), begin() + 1, end());
  pop_back();
}

std::string to_string(const Extents& extents) {
  if (extents.empty()) return "a single value";
  std::string out;
  for (std::size_t i = 0; i < extents.size(); ++i) out += (i == 0 ? "" : " × ") + std::to_string(extents[i]);
  return out;
}

std::int64_t count_of(const Extents& extents) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0)
      throw Error("an array cannot have " + std::to_string(extent) + " elements along a dimension");
    empty |= extent == 0;
  }
  if (empty) return 0;
  for (const std::int64_t extent : extents)
    if (__builtin_mul_overflow(count, extent, &count) || count > (std::int64_t{1} << 62))
      throw Error("an array of " + to_string(extents) + " elements is larger than any memory");
  return count;
}

std::size_t bytes_of(Element element, const Extents& extents) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count_of(extents), static_cast<std::int64_t>(size_of(element)), &bytes))
    throw Error("an array of " + to_string(extents) + " elements of " + std::string(name_of(element)) +
                " is larger than any memory");
  return static_cast<std::size_t>(bytes);
}

// Only an empty array's strides can exceed 64 bits; they are never used and may wrap.
Extents row_major_strides(const Extents& extents) {
  Extents strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;)
    (void)__builtin_mul_overflow(strides[i], extents[i], &strides[i - 1]);
  return strides;
}

bool ArrayView::row_major() const {
  const Extents expected = row_major_strides(extents);
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 1 && strides[i] != expected[i]) return false;
  return true;
}

ArrayView ArrayView::transposed() const {
  ArrayView out = *this;
  const std::size_t rank = extents.size();
  if (rank < 2) throw Error(Error::Kind::internal, "transposing needs two dimensions");
  std::swap(out.extents[rank - 1], out.extents[rank - 2]);
  std::swap(out.strides[rank - 1], out.strides[rank - 2]);
  return out;
}

std::pair<std::int64_t, std::int64_t> ArrayView::span() const {
  if (count() == 0) return {0, 0};
  std::int64_t first = 0, last = 0;
  for (std::size_t i = 0; i < extents.size(); ++i)
    (strides[i] < 0 ? first : last) += (extents[i] - 1) * strides[i];
  return {first, last + 1};
}

Memory& host_memory() {
  static HostMemory memory;
  return memory;
}

Array::Array(Element element, Extents extents, Memory& memory) {
  const std::size_t bytes = bytes_of(element, extents);
  owner_ = std::shared_ptr<void>(memory.allocate(bytes), [&memory](void* p) { memory.release(p); });
  Extents strides = row_major_strides(extents);
  view_ = {owner_.get(), element, std::move(extents), std::move(strides)};
}

Array packed_copy(const ArrayView& from) {
  Array out(from.element, from.extents);
  if (from.count() != 0) pack(from, 0, static_cast<const char*>(from.data), out.as<char>());
  return out;
}

}  // namespace tessera
