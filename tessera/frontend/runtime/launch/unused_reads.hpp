// SPDX-License-Identifier: Apache-2.0
// A thread may read memory that nothing has set, and not use the value. Two runs of the launch, with
// different values in that memory, tell: if their results are equal, the value was not used.
#pragma once
#include <vector>
#include "tessera/frontend/runtime/runtime.hpp"
#include "tessera/simt/executor/executor.hpp"

namespace tessera_cuda {

class MemoryBefore {
 public:
  MemoryBefore();  // before a launch, while device memory is accessible
  // Called after the traced launch. The task has its context; its tracer is ignored.
  bool unset_values_matter(tessera::simt::Task task) const;

 private:
  struct Copy {
    const Array* array;
    std::vector<char> bytes;
    std::vector<std::uint8_t> marks;
  };
  std::vector<Copy> copies_;
  bool complete_ = true;
};

}  // namespace tessera_cuda
