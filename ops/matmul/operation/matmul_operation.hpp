// SPDX-License-Identifier: Apache-2.0
// What the operation knows about itself besides its signature: inputs that find errors, the product in
// higher precision with the bound of every rung's error, and a randomised check of a large product.
#pragma once
#include <cstdint>
#include <span>
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

Signature signature();

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to);

// These rows of C in higher precision than any rung, and what else an honest rung may come to.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& expected);

// No randomised check sees through what bends or clips the sum: rows at equal distances are looked at.
bool sampled_only(const Arguments& arguments);

// Whether a relative L2 norm can be asked for, besides the bound of each element.
bool norm_demanded(const Arguments& arguments);

// Rows of C that may be wrong, by R. Freivalds' check: C·x against α·A·(B·x) + β·C0·x, for random x, in
// O(n²) operations.
std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed);

}  // namespace tessera::matmul
