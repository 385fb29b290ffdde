// SPDX-License-Identifier: Apache-2.0
#include "device_matrix.hpp"
#include <algorithm>
#include <cstring>

namespace tessera::products {
namespace {

constexpr std::size_t guard = std::size_t{64} << 10;  // bytes before and behind
constexpr unsigned char untouched = 0xff, fence = 0xab;

// The strides of this layout.
Extents strides_of(const Extents& extents, const Lie& lie) {
  const std::size_t rank = extents.size();
  if (rank == 1) return {1};
  const std::int64_t rows = extents[rank - 2], cols = extents[rank - 1];
  const std::int64_t step = (lie.by_columns ? rows : cols) + lie.more, lines = lie.by_columns ? cols : rows;
  Extents out = lie.by_columns ? Extents{1, step} : Extents{step, 1};
  if (rank == 3) out.insert_front(lines * step + lie.apart);
  return out;
}

std::string first_other(const char* from, const char* to, unsigned char wanted) {
  const char* const found =
      std::find_if(from, to, [&](char c) { return static_cast<unsigned char>(c) != wanted; });
  return found == to ? std::string() : std::to_string(found - from);
}

}  // namespace

Bytes::Bytes(const Run& run, std::size_t bytes)
    : memory_(backend_of(*run.device).memory(*run.device)),
      data_(static_cast<char*>(memory_.allocate(bytes))) {}
Bytes::~Bytes() { memory_.release(data_); }

DeviceMatrix::DeviceMatrix(const Run& run, Element element, Extents extents, const Lie& lie)
    : run_(run),
      by_columns_(lie.by_columns && extents.size() > 1),
      view_{nullptr, element, extents, strides_of(extents, lie)},
      image_(
          [&] {
            const std::int64_t elements = view_.span().second + lie.ahead;
            return 2 * guard + static_cast<std::size_t>(elements) * size_of(element);
          }(),
          static_cast<char>(untouched)),
      first_(guard + static_cast<std::size_t>(lie.ahead) * size_of(element)),
      device_bytes_(run, image_.size()) {
  view_.data = image_.data() + first_;
}

ArrayView DeviceMatrix::view() const {
  ArrayView out = view_;
  out.data = device_bytes_.data() + first_;
  return out;
}

char* DeviceMatrix::place(std::int64_t at) const {
  std::int64_t offset = 0;
  for (std::size_t d = view_.extents.size(); d-- > 0; at /= view_.extents[d])
    offset += at % view_.extents[d] * view_.strides[d];
  return image_.data() + first_ + static_cast<std::size_t>(offset) * size_of(view_.element);
}

void DeviceMatrix::upload() const {
  backend_of(*run_.device).copy(run_, device_bytes_.data(), image_.data(), image_.size());
}

void DeviceMatrix::poison() {
  std::ranges::fill(image_, static_cast<char>(untouched));
  upload();
}

void DeviceMatrix::fetch() {
  backend_of(*run_.device).copy(run_, image_.data(), device_bytes_.data(), image_.size());
  backend_of(*run_.device).synchronize(run_);
}

void DeviceMatrix::forget_elements() {
  if (count() == 0) return;
  const ArrayView lines = by_columns_ ? view_.transposed() : view_;
  const auto length = static_cast<std::size_t>(lines.extents.back()), bytes = size_of(view_.element);
  const std::int64_t all = count() / lines.extents.back();
  for (std::int64_t line = 0; line < all; ++line) {
    std::int64_t offset = 0, at = line;
    for (std::size_t d = lines.extents.size() - 1; d-- > 0; at /= lines.extents[d])
      offset += at % lines.extents[d] * lines.strides[d];
    std::memset(image_.data() + first_ + static_cast<std::size_t>(offset) * bytes, untouched, length * bytes);
  }
}

std::string DeviceMatrix::guard_violation() {
  forget_elements();
  const std::string where = first_other(image_.data(), image_.data() + image_.size(), untouched);
  if (where.empty()) return {};
  return "byte " + std::to_string(std::stoll(where) - static_cast<std::int64_t>(first_)) +
         " from its first element on is written, and no element's";
}

Workspace::Workspace(const Run& run, std::size_t bytes)
    : run_(run), bytes_(bytes), device_bytes_(run, bytes + 2 * guard) {
  Backend& backend = backend_of(*run.device);
  backend.fill(run, device_bytes_.data(), fence, bytes + 2 * guard);
  if (bytes != 0) backend.fill(run, device_bytes_.data() + guard, 0, bytes);
}

void Workspace::lend(Run& run) const {
  run.workspace = device_bytes_.data() + guard;
  run.workspace_bytes = bytes_;
}

std::string Workspace::guard_violation() const {
  std::vector<char> image(guard);
  for (const bool behind : {false, true}) {
    backend_of(*run_.device)
        .copy(run_, image.data(), device_bytes_.data() + (behind ? guard + bytes_ : 0), guard);
    backend_of(*run_.device).synchronize(run_);
    if (!first_other(image.data(), image.data() + guard, fence).empty())
      return std::string("bytes ") + (behind ? "behind" : "before") + " its workspace of " +
             std::to_string(bytes_) + " are written";
  }
  return {};
}

}  // namespace tessera::products
