// SPDX-License-Identifier: Apache-2.0
// A group's products as arguments of the single product, and what computes them on processors.
#pragma once
#include <deque>
#include "group.hpp"

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
void compute_on_processors(std::span<const Arguments> entries, int threads);

}  // namespace tessera::matmul_batch
