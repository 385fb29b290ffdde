// SPDX-License-Identifier: Apache-2.0
// Host memory of a call's arrays made such that the copies of GPUs reach it: what several calls use is worth
// that once. (It takes longer than to copy the same bytes once.) While it lives, calls find the memory as it
// is; the arrays must not be freed before.
#pragma once
#include <memory>
#include <vector>
#include "tessera/core/arguments.hpp"

namespace tessera {

class Pinned {
 public:
  Pinned() = default;
  // What the system refuses, or is pinned already, is left as it is.
  explicit Pinned(const Arguments& host);

  std::int64_t bytes() const { return bytes_; }

 private:
  std::vector<std::shared_ptr<void>> held_;
  std::int64_t bytes_ = 0;
};

}  // namespace tessera
