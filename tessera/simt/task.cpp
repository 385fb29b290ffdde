// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/task.hpp"
#include <cxxabi.h>
#include <cstdlib>
#include <memory>

namespace tessera::simt {

std::string kernel_name(const Task& task) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(task.type, nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? demangled.get() : task.type;
  // What every kernel's name has in it tells nothing.
  for (const std::string_view noise : {"tessera::", "(anonymous namespace)::"})
    for (std::size_t at; (at = name.find(noise)) != std::string::npos;) name.erase(at, noise.size());
  // Nor do the namespaces of a build and of a batch's file: unit_plain::, unit_gpu_05_shared_tiles::.
  for (std::size_t at;
       (at = name.find("unit_")) != std::string::npos && name.find("::", at) != std::string::npos;)
    name.erase(at, name.find("::", at) + 2 - at);
  return name;
}

std::string to_string(const Index3& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) +
         ")";
}

std::string to_string(Here here) { return std::string(here.file) + ":" + std::to_string(here.line); }

}  // namespace tessera::simt
