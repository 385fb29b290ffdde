// SPDX-License-Identifier: Apache-2.0
// What a bias and an activation make of an element of f64 or i32, and of how far it may be off.
#pragma once
#include <optional>
#include "conclusion.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

// T: double or std::int32_t. With z = v + bias of the exact v, where rungs have some v' with |v' - v| ≤ E:
// the sum z' is rounded once, so |z' - z| ≤ E + u·(|z| + E); a slope of at most 1.13 (docs/low-precision.md)
// makes that 1.13·|z' - z| of the activation's value, and its functions are good to 2⁻⁴⁹·|z|. Whole numbers
// of which nothing is rounded, and i32, have one right answer.
template <class T>
class ConcludedBound {
 public:
  explicit ConcludedBound(const Arguments& arguments);

  // Of element (i, j), which `expected` ends with as it was before them.
  void apply(std::int64_t i, std::int64_t j, Expected& expected) const;

 private:
  std::optional<Conclusion<T>> after_;  // nothing: neither is there
};

}  // namespace tessera::matmul
