// SPDX-License-Identifier: Apache-2.0
// What TIFF stores otherwise than arrays do: fewer bits than a byte, white as 0, colours that alpha has been
// multiplied into, numbers of a palette. No library is needed for these.
#pragma once
#include "tessera/io/picture_codec.hpp"

namespace tessera::picture {

// `count` samples of 1, 2 or 4 bits, the first in the upper bits, as numbers.
void unpack_bits(const std::byte* from, std::size_t count, unsigned bits, std::byte* to);
// Numbers of that many bits as bytes from 0 to 255.
void stretch_bits(Array& pixels, unsigned bits);
// u8 and u16: 0 is white. The last channel stays where it is alpha.
void invert(Array& pixels, bool alpha);
// Colours as they were before alpha took its share, to the nearest; u8 and u16.
void divide_by_alpha(Array& pixels);

struct Palette {
  const std::uint16_t *red, *green, *blue;
  std::size_t colours;
};
// The colours that numbers stand for: the upper 8 of the palette's 16 bits, as libtiff takes them, since some
// programs write a byte's 257-fold and others its 256-fold. Of a palette without any value above 255 they are
// bytes already.
void look_up(const Palette& palette, const Array& numbers, Array& colours);

}  // namespace tessera::picture
