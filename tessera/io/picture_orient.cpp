// SPDX-License-Identifier: Apache-2.0
// How a camera was held: read from EXIF, and undone.
#include <cstring>
#include "tessera/io/picture_codec.hpp"

namespace tessera::picture {
namespace {

// Numbers of either byte order, nothing beyond the end.
class Numbers {
 public:
  Numbers(std::span<const std::byte> bytes, bool little) : bytes_(bytes), little_(little) {}

  std::uint32_t get(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < size; ++i)
      out = out << 8 | static_cast<std::uint32_t>(bytes_[little_ ? at + size - 1 - i : at + i]);
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_;
};

}  // namespace

int exif_orientation(std::span<const std::byte> exif) {
  constexpr std::uint32_t tag = 0x0112, whole_number = 3, long_number = 4;  // which some write instead
  constexpr std::size_t entry_bytes = 12;
  if (exif.size() < 8) return 1;
  const Numbers numbers(exif, exif[0] == std::byte{'I'});
  const std::size_t start = numbers.get(4, 4);
  const std::size_t entries = numbers.get(start, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = start + 2 + i * entry_bytes;
    if (at > exif.size()) break;
    const std::uint32_t type = numbers.get(at + 2, 2);
    if (numbers.get(at, 2) != tag || (type != whole_number && type != long_number)) continue;
    const auto value = numbers.get(at + 8, type == long_number ? 4 : 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Array upright(const Array& pixels, int orientation) {
  if (orientation <= 1 || orientation > 8) return pixels;
  const bool turned = orientation >= 5;  // rows of the file are columns of the picture
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::int64_t rows = pixels.extents()[0], cols = pixels.extents()[1], channels = pixels.extents()[2];
  const auto size = static_cast<std::size_t>(channels) * size_of(pixels.element());
  Array out(pixels.element(), {turned ? cols : rows, turned ? rows : cols, channels});
  const std::int64_t height = out.extents()[0], width = out.extents()[1];
  const auto* from = pixels.as<std::byte>();
  auto* to = out.as<std::byte>();
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x, to += size) {
      const std::int64_t r = turned ? x : y, c = turned ? y : x;
      const std::int64_t row = from_below ? rows - 1 - r : r, col = from_right ? cols - 1 - c : c;
      std::memcpy(to, from + static_cast<std::size_t>(row * cols + col) * size, size);
    }
  return out;
}

}  // namespace tessera::picture
