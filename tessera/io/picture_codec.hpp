// SPDX-License-Identifier: Apache-2.0
// The interface of the formats' codecs: each reads from memory and writes to memory, opens no files, and
// throws Error "NAME: reason".
#pragma once
#include "tessera/io/picture.hpp"

namespace tessera::picture {

using Bytes = std::vector<std::byte>;

struct Raw {
  Picture picture;
  int orientation = 1;  // EXIF's numbering: 1 is upright
};

// Reads and writes one format.
struct Codec {
  Raw (*parse)(std::span<const std::byte> file, const std::string& name, const Limits& limits) = nullptr;
  // `pixels` are row-major.
  Bytes (*encode)(const std::string& name, const ArrayView& pixels, const Style& style) = nullptr;
  // Set if this build lacks the format's library: its name for a message; the functions are null then.
  const char* lacking = nullptr;
};
extern const Codec png_codec, jpeg_codec, tiff_codec, pnm_codec;

// Allocates the pixels; throws Error if a limit forbids them or the host has too little memory.
Array pixels_for(const std::string& name, const Limits& limits, Element element, std::int64_t height,
                 std::int64_t width, std::int64_t channels);

// Turns a library's message into an Error: the file is damaged, or of a kind that the library does not
// support.
Error unreadable(const std::string& name, const std::string& format, const std::string& message);

// Returns the orientation in an EXIF block that begins with its TIFF header; 1 if it has none.
int exif_orientation(std::span<const std::byte> exif);
// Rotates and mirrors pixels according to their EXIF orientation.
Array upright(const Array& pixels, int orientation);

}  // namespace tessera::picture
