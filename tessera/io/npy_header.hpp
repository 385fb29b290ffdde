// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file in our own terms: which element, how it lies, where the data begins.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include "tessera/core/array.hpp"
#include "tessera/io/npy_dict.hpp"

namespace tessera::npy {

struct Header {
  Element element = Element::f32;
  bool swapped = false;       // of the byte order that this machine has not
  bool column_major = false;  // Fortran order: the first index runs fastest
  Extents extents;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;

  Extents strides() const;  // in elements
};

// What is written before the data, and where they begin.
struct Preamble {
  Dict dict;
  std::size_t data_offset = 0;
};
Preamble parse_preamble(std::span<const std::byte> file, const std::string& name);

std::string_view type_code(std::string_view descr);  // "f4" of "<f4"
bool is_swapped(std::string_view descr);             // its bytes stand in the order that this machine has not
// Throws Error where no memory could hold them.
std::size_t bytes_of_data(const Extents& extents, std::size_t element_bytes, const std::string& name);

// Of a whole file, whose data is then known to be there. Throws Error "NAME: reason".
Header parse_header(std::span<const std::byte> file, const std::string& name, std::optional<Element> as);

// Everything before the data, padded to a multiple of 64 bytes so that mapped data is aligned. At
// most most_dimensions extents.
std::string format_header(Element element, bool column_major, const Extents& extents);

Extents column_major_strides(const Extents& extents);

}  // namespace tessera::npy
