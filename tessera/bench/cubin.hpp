// SPDX-License-Identifier: Apache-2.0
// Finds the GPU code that a file carries: it may be a .cubin, a .fatbin, or a program, library or object
// that nvcc made, whose section .nv_fatbin holds code and PTX for several architectures.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

struct Cubins {
  std::vector<std::string> files;  // ELF files
  std::size_t ptx = 0;             // entries that the driver would still have to compile
  std::size_t unreadable = 0;      // compressed in a way that this build cannot read
};

// Throws Error with a reason and no name.
Cubins cubins_of(std::string_view file);

}  // namespace tessera::bench
