// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file in our own terms: which element, how it lies, where the data begins.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include "tessera/core/array.hpp"

namespace tessera::npy {

inline constexpr std::size_t most_dimensions = 64;  // as NumPy 2 has it

struct Header {
  Element element = Element::f32;
  bool swapped = false;       // of the byte order that this machine has not
  bool column_major = false;  // Fortran order: the first index runs fastest
  Extents extents;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;

  Extents strides() const;  // in elements
};

// Of a whole file, whose data is then known to be there. Throws Error "NAME: reason".
Header parse_header(std::span<const std::byte> file, const std::string& name, std::optional<Element> as);

// Everything before the data, padded to a multiple of 64 bytes so that mapped data is aligned. At
// most most_dimensions extents.
std::string format_header(Element element, bool column_major, const Extents& extents);

Extents column_major_strides(const Extents& extents);

}  // namespace tessera::npy
