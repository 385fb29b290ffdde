// SPDX-License-Identifier: Apache-2.0
// The text of a .npy header: a Python dictionary of three entries, read as the little language
// that it is. Nothing in it is trusted.
#pragma once
#include <string>
#include <string_view>
#include "tessera/core/array.hpp"

namespace tessera::npy {

inline constexpr std::size_t most_dimensions = 64;  // as NumPy 2 has it

struct Dict {
  std::string descr;           // "<f4"
  bool fortran_order = false;  // the first index runs fastest
  Extents shape;
};

// Throws Error "NAME: reason".
Dict parse_dict(std::string_view text, const std::string& name);

// For messages: short, and without what would confuse a terminal.
std::string printable(std::string_view text);

}  // namespace tessera::npy
