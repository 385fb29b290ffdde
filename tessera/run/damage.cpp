// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/damage.hpp"
#include <vector>

namespace tessera {
namespace {

// Elements of a result, wherever it lies, by their place in row-major order.
class Elements {
 public:
  Elements(const ArrayView& result, Backend& backend, const Run& run)
      : result_(&result), backend_(&backend), run_(&run) {}

  void swap(std::int64_t first, std::int64_t second) const {
    const Bytes one = read(first), other = read(second);
    write(first, other);
    write(second, one);
  }

  // Counted from the lowest; -1: the highest but the sign's.
  void flip(std::int64_t place, int bit) const {
    Bytes bytes = read(place);
    const auto at = static_cast<std::size_t>(bit < 0 ? 8 * std::ssize(bytes) - 2 : bit);
    bytes.at(at / 8) ^= static_cast<unsigned char>(1 << at % 8);
    write(place, bytes);
  }

 private:
  using Bytes = std::vector<unsigned char>;

  char* address_of(std::int64_t place) const {
    std::int64_t offset = 0;
    for (std::size_t d = result_->extents.size(); d-- > 0; place /= result_->extents[d])
      offset += place % result_->extents[d] * result_->strides[d];
    return static_cast<char*>(result_->data) + offset * static_cast<std::int64_t>(size_of(result_->element));
  }
  Bytes read(std::int64_t place) const {
    Bytes out(size_of(result_->element));
    backend_->copy(*run_, out.data(), address_of(place), out.size());
    backend_->synchronize(*run_);
    return out;
  }
  void write(std::int64_t place, const Bytes& bytes) const {
    backend_->copy(*run_, address_of(place), bytes.data(), bytes.size());
    backend_->synchronize(*run_);
  }

  const ArrayView* result_;
  Backend* backend_;
  const Run* run_;
};

}  // namespace

void damage(const Fault& fault, const ArrayView& result, Backend& backend, const Run& run) {
  const std::int64_t count = result.count();
  if (count == 0) return;
  const Elements elements(result, backend, run);
  const std::int64_t cols = result.extents.empty() ? 1 : result.extents.back();
  switch (fault.kind) {
    case Fault::Kind::flip:
      return elements.flip((count * 5 / 8 + cols * 2 / 5) % count, fault.number);
    case Fault::Kind::strew:
      // Each in another row and column, as far as there are as many.
      for (std::int64_t i = 0; i < fault.number; ++i) elements.flip((i * (cols + 3) + count / 3) % count, -1);
      return;
    case Fault::Kind::swap:
      for (std::int64_t row = 0; row < count / cols; ++row)
        elements.swap(row * cols + cols / 3, row * cols + cols - 1);
      return;
    default:
      return;
  }
}

}  // namespace tessera
