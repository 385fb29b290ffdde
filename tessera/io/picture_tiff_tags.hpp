// SPDX-License-Identifier: Apache-2.0
// What a TIFF file itself says, where libtiff mends it without a word.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::picture {

// The number that the directory at this place lists for a tag (TIFF 6.0, section 2, or BigTIFF). 0 where it
// lists several, or none, and beyond the file's end.
std::uint64_t listed_number(std::span<const std::byte> file, std::uint64_t directory, std::uint16_t tag);

}  // namespace tessera::picture
