// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/picture_tiff_pixels.hpp"
#include <algorithm>
#include <limits>

namespace tessera::picture {
namespace {

template <class T>
void invert_as(T* values, std::int64_t count, std::int64_t samples, std::int64_t colours) {
  for (std::int64_t i = 0; i < count; i += samples)
    for (std::int64_t c = 0; c < colours; ++c) values[i + c] = static_cast<T>(~values[i + c]);
}

template <class T>
void divide_as(T* values, std::int64_t count, std::int64_t samples) {
  constexpr std::uint64_t most = std::numeric_limits<T>::max();
  for (std::int64_t i = 0; i < count; i += samples)
    for (std::int64_t c = 0; c + 1 < samples; ++c)
      if (const std::uint64_t a = values[i + samples - 1]; a != 0)
        values[i + c] = static_cast<T>(std::min(most, (values[i + c] * most + a / 2) / a));
}

}  // namespace

void unpack_bits(const std::byte* from, std::size_t count, unsigned bits, std::byte* to) {
  const unsigned in_byte = 8 / bits, mask = (1u << bits) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto shift = static_cast<unsigned>(in_byte - 1 - i % in_byte) * bits;
    to[i] = static_cast<std::byte>(static_cast<unsigned>(from[i / in_byte]) >> shift & mask);
  }
}

void stretch_bits(Array& pixels, unsigned bits) {
  const unsigned step = 255u / ((1u << bits) - 1);
  auto* const values = pixels.as<std::uint8_t>();
  for (std::int64_t i = 0; i < pixels.view().count(); ++i)
    values[i] = static_cast<std::uint8_t>(values[i] * step);
}

void invert(Array& pixels, bool alpha) {
  const std::int64_t count = pixels.view().count(), samples = pixels.extents()[2],
                     colours = alpha ? samples - 1 : samples;
  if (pixels.element() == Element::u16) invert_as(pixels.as<std::uint16_t>(), count, samples, colours);
  else invert_as(pixels.as<std::uint8_t>(), count, samples, colours);
}

void divide_by_alpha(Array& pixels) {
  const std::int64_t count = pixels.view().count(), samples = pixels.extents()[2];
  if (pixels.element() == Element::u16) divide_as(pixels.as<std::uint16_t>(), count, samples);
  else divide_as(pixels.as<std::uint8_t>(), count, samples);
}

void look_up(const Palette& palette, const Array& numbers, Array& colours) {
  const std::uint16_t* const parts[] = {palette.red, palette.green, palette.blue};
  std::uint16_t largest = 0;
  for (const auto* part : parts) largest = std::max(largest, *std::max_element(part, part + palette.colours));
  const auto byte = [largest](std::uint16_t value) {
    return static_cast<std::uint8_t>(largest < 256 ? value : value >> 8);
  };
  auto* to = colours.as<std::uint8_t>();
  const auto* from = numbers.as<std::uint8_t>();
  for (std::int64_t i = 0; i < numbers.view().count(); ++i)
    for (const auto* part : parts) *to++ = byte(part[from[i]]);
}

}  // namespace tessera::picture
