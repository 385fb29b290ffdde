// SPDX-License-Identifier: Apache-2.0
// What the operation knows about itself besides its signature: inputs that find errors, the product in
// higher precision with the bound of every rung's error, and a randomised check of a large product.
#pragma once
#include <cstdint>
#include <vector>
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to);

// Rows [first, last) of C in higher precision than any rung, and bounds, see rounding_growth.
void reference(const Arguments& arguments, std::int64_t first, std::int64_t last, Expected& expected);

// γ such that an honest rung's error stays below γ·(|α|·|A|·|B| + |β|·|C0|), element by element.
//
// An element of C is a sum of k + 1 terms α·a·b and β·c0, each of which passes through at most k + 3
// roundings in whatever order and association a rung sums. Always γ ≤ (k+3)u / (1 - (k+3)u). If roundings
// are independent with mean zero, then γ ≤ exp(λ√(k+3)·u + (k+3)u²/(1-u)) - 1 but for a probability of
// 2·exp(-λ²(1-u)²/2) for each of the roundings (N. J. Higham and T. Mary, "A new approach to probabilistic
// rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019, theorems 2.4 and 3.1). λ is such that no
// element of a whole product exceeds it but for a probability of 10⁻⁶. The smaller of the two is taken.
double rounding_growth(const Arguments& arguments, double unit_roundoff);

// Rows of C that may be wrong, by R. Freivalds' check: C·x against α·A·(B·x) + β·C0·x, for random x, in
// O(n²) operations.
std::vector<std::int64_t> suspect_rows(const Arguments& arguments, std::uint64_t seed);

}  // namespace tessera::matmul
