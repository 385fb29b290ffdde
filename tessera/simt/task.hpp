// SPDX-License-Identifier: Apache-2.0
// A kernel with its arguments and grid, free of types, and how messages name its parts.
#pragma once
#include <cstddef>
#include <string>
#include "tessera/core/thread.hpp"

namespace tessera::simt {

struct Tracer;

struct Task {
  const char* type = "";                                      // the kernel's, as the compiler mangles it
  void (*body)(const void* context, void* shared) = nullptr;  // one GPU thread
  const void* context = nullptr;
  std::size_t shared_bytes = 0;
  bool may_return_early = false;  // the kernel means it when threads return before a barrier of the others
  Launch launch;
  Tracer* tracer = nullptr;  // watches a traced kernel
};

std::string kernel_name(const Task& task);
std::string to_string(const Index3& index);  // "(1, 0, 0)"
std::string to_string(Here here);            // "file.cu:40"

}  // namespace tessera::simt
