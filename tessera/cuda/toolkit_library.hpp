// SPDX-License-Identifier: Apache-2.0
// Libraries of the CUDA toolkit, loaded at run time.
#pragma once
#include <dlfcn.h>
#include <string>
#include <vector>

namespace tessera::cuda {

// Returns the first file of these names that the loader or a usual folder of the toolkit has; null: none.
inline void* open_toolkit_library(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/", "/opt/cuda/lib64/"})
      if (void* const file = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return file;
  return nullptr;
}

}  // namespace tessera::cuda
