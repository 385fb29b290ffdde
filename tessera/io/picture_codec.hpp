// SPDX-License-Identifier: Apache-2.0
// What the formats' files share: each reads from memory and writes to memory, knows nothing of files, and
// throws Error "NAME: reason".
#pragma once
#include "tessera/io/picture.hpp"

namespace tessera::picture {

using Bytes = std::vector<std::byte>;

struct Raw {
  Picture picture;
  int orientation = 1;  // as EXIF counts: 1 is upright
};

Raw parse_png(std::span<const std::byte> file, const std::string& name, const Limits& limits);
Raw parse_jpeg(std::span<const std::byte> file, const std::string& name, const Limits& limits);
Raw parse_tiff(std::span<const std::byte> file, const std::string& name, const Limits& limits);
Raw parse_pnm(std::span<const std::byte> file, const std::string& name, const Limits& limits);

// `pixels` are row-major.
Bytes encode_png(const std::string& name, const ArrayView& pixels, const Style& style);
Bytes encode_jpeg(const std::string& name, const ArrayView& pixels, const Style& style);
Bytes encode_tiff(const std::string& name, const ArrayView& pixels, const Style& style);
Bytes encode_pnm(const std::string& name, const ArrayView& pixels);

// An array for the pixels, or Error where a limit forbids it or the host has no such memory.
Array pixels_for(const std::string& name, const Limits& limits, Element element, std::int64_t height,
                 std::int64_t width, std::int64_t channels);

// What a library says of a file that it cannot read: it is damaged, or of a kind that the library lacks.
Error unreadable(const std::string& name, const std::string& format, const std::string& message);

// The orientation in an EXIF block that begins with its TIFF header; 1 where it says none.
int exif_orientation(std::span<const std::byte> exif);
// Upright, from pixels as a camera has stored them.
Array upright(const Array& pixels, int orientation);

}  // namespace tessera::picture
