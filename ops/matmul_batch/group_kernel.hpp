// SPDX-License-Identifier: Apache-2.0
// What computes a whole group on a GPU at once, where a build has it. Entries are arguments of the single
// product.
#pragma once
#include <functional>
#include <span>
#include "tessera/core/variant.hpp"

namespace tessera::matmul_batch {

struct GroupKernel {
  std::string name;
  std::function<Reason(std::span<const Arguments>, const Device&)> refuses;
  std::function<std::size_t(std::span<const Arguments>)> workspace_bytes;
  // With arrays, and a workspace, where the device has them; in the order of the stream, without waiting.
  std::function<void(std::span<const Arguments>, Run&)> run;
};

const GroupKernel* group_kernel();  // null: this build has none
void register_group_kernel(GroupKernel kernel);

}  // namespace tessera::matmul_batch
