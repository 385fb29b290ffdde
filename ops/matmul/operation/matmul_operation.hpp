// SPDX-License-Identifier: Apache-2.0
// The operation besides its signature: inputs that expose errors, the product in higher precision with a
// bound on every rung's error, and a randomised check of a large product.
#pragma once
#include <cstdint>
#include <span>
#include <vector>
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/operation/partition.hpp"

namespace tessera::matmul {

Signature signature();

void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          const ArrayView& to);

// The error that an arithmetic may add to that of ours: see verify/examine.hpp.
struct Slack {
  double growth = 0;             // relative to Σ|a·b|
  double floor = 0;              // absolute
  double most = 0x1.fffffep127;  // the largest sum that does not overflow
};

// Computes these rows of C in higher precision than any rung, with the values that a correct rung may give.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& expected,
               const Slack& slack = {});

// True if only rows at equal distances are checked: the randomised check needs results that are linear in the
// sum.
bool sampled_only(const Arguments& arguments);

// True if a relative L2 norm is checked besides the bound of each element.
bool norm_demanded(const Arguments& arguments);

// Returns rows of C that may be wrong, by R. Freivalds' check: C·x against α·A·(B·x) + β·C0·x, for random x,
// in O(n²) operations. `seen`: gets, for each row of C, the error of one element above which the row is
// among them, if its rounding errors are not larger than theirs; empty: the check has no such limit.
std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed,
                                       const Slack& slack = {}, std::vector<double>* seen = nullptr);

// Operation::examine; verify/examine.hpp describes `arithmetic`.
Finding examine(const Arguments& given, const std::string& arithmetic, const Device* device = nullptr);

// Returns that check for the tiles of a product of f32 or f64; null for other elements.
TileCheck tile_check(const Arguments& whole, std::span<const Tile> tiles, std::uint64_t seed);

}  // namespace tessera::matmul
