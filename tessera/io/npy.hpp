// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files as arrays. Reading maps the file, so that pages are read only when used; data that
// cannot be used in place (other byte order, misaligned) is copied.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/array/array.hpp"

namespace tessera::npy {

// Reads an array. `as`: the expected element, needed for bf16, which NumPy saves without its type. Fortran
// order is expressed by strides. Writing to the array does not change the file. The file may be replaced
// while it is mapped, but not truncated: access to lost pages raises SIGBUS. Throws Error "PATH: reason".
[[nodiscard]] Array read(const std::string& path, std::optional<Element> as = {});

// Parses a file's bytes, which are copied. `name` is for messages.
[[nodiscard]] Array parse(std::span<const std::byte> file, const std::string& name,
                          std::optional<Element> as = {});

// A file's numbers as doubles, row-major. Unlike arrays for kernels they may have any NumPy integer, boolean
// or floating type of up to 64 bits; they are rounded to the nearest double. Throws Error "PATH: reason".
struct Numbers {
  Extents extents;
  std::vector<double> values;
};
[[nodiscard]] Numbers read_numbers(const std::string& path);

// A file's elements, unconverted and row-major. Unlike arrays for kernels they may have any NumPy integer,
// boolean or floating type of up to 64 bits.
struct Elements {
  std::string type;  // NumPy's, without byte order: "f4", "u8", "b1"
  Extents extents;
  std::vector<std::byte> bytes;  // in this machine's byte order
};
[[nodiscard]] Elements read_elements(const std::string& path);
[[nodiscard]] Elements parse_elements(std::span<const std::byte> file, const std::string& name);
void write_elements(const std::string& path, const Elements& elements);
std::vector<double> values_of(const Elements& elements);  // rounded to the nearest double

// Writes an array in host memory with any strides, in Fortran order if that saves a pass over the data. An
// old file is unchanged until the new one is complete.
void write(const std::string& path, const ArrayView& array);
// Writes to an open file (standard output); `name` is for messages.
void write(int descriptor, const std::string& name, const ArrayView& array);

// The contents of a file's header: the element, the layout, the offset of the data.
inline constexpr std::size_t max_dimensions = 64;  // NumPy 2's limit

struct Header {
  Element element = Element::f32;
  bool swapped = false;       // the other byte order than this machine's
  bool column_major = false;  // Fortran order: the first index runs fastest
  Extents extents;
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;

  Extents strides() const;  // in elements
};

// Parses a file's header and checks that its data is complete. Throws Error "NAME: reason".
[[nodiscard]] Header parse_header(std::span<const std::byte> file, const std::string& name,
                                  std::optional<Element> as);

// Returns the bytes before the data, padded to a multiple of 64 so that mapped data is aligned. `extents`: at
// most max_dimensions.
[[nodiscard]] std::string format_header(Element element, bool column_major, const Extents& extents);

Extents column_major_strides(const Extents& extents);

}  // namespace tessera::npy
