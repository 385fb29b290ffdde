// SPDX-License-Identifier: Apache-2.0
// A group's products as arguments of the single product, and what computes them: on the CPU, or by a kernel
// for a whole group on a GPU, where a build has it.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include "multiply_group.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::matmul_batch {

class Group {
 public:
  // `in_place`: C itself is what β multiplies; else it is set aside, for C may be poisoned before it is
  // written. Throws Error with the number of the product.
  Group(std::span<const detail::AnyProduct> products, const Options& options, bool in_place);

  const std::vector<Arguments>& entries() const { return entries_; }

 private:
  void check_apart() const;
  void add(const detail::AnyProduct& product, const Options& options, bool in_place);

  std::deque<Array> kept_;
  std::vector<Arguments> entries_;
};

// Whoever is free takes the next entry.
void compute_on_cpu(std::span<const Arguments> entries, int threads);

// What computes a whole group on a GPU at once, where a build has it. Entries are arguments of the single
// product.

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
