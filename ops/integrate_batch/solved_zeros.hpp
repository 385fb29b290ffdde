// SPDX-License-Identifier: Apache-2.0
// Where a part of a formula that can be solved for its variable takes a value: exp(x)-k is 0 at log(k), x*x-k
// at ±sqrt(k).
#pragma once
#include <string>
#include <vector>
#include "linear_parts.hpp"

namespace tessera::integrate_batch {

class Solver {
 public:
  Solver(const formula::Tree& tree, const std::string& variable) : tree_(tree), parts_(tree, variable) {}

  // Formulas of the parameters: all places where the part is the target, NaN or beside the point where there
  // is none. Empty: it cannot be solved so, or is linear and needs none of this.
  std::vector<std::string> zeros(std::int32_t index) const;
  // Whether it may have a zero that nothing is solved for.
  bool hides_zeros(std::int32_t index) const;
  // Where a comparison's sides meet, one of which does not vary.
  std::vector<std::string> meetings(const formula::Node& node) const;
  // 1 over the distance within which a sum of a number and such a part moves from 0 to a share of that
  // number: how fast it passes 0, whatever it does elsewhere. Empty: it cannot be solved, or does not pass 0.
  std::string rate_at_zero(std::int32_t index) const;

 private:
  // `signs`: how many choices of one lie outside of it.
  std::vector<std::string> solve(std::int32_t index, const std::string& target, int signs) const;
  std::vector<std::string> solve_product(const formula::Node& node, const std::string& target,
                                         int signs) const;
  std::vector<std::string> solve_power(const formula::Node& node, const std::string& target, int signs) const;
  std::vector<std::string> both_signs(std::int32_t index, const std::string& target, int signs) const;
  bool varies(std::int32_t index) const { return index >= 0 && parts_.degree(index) != 0; }
  bool is_linear(std::int32_t index) const { return parts_.degree(index) < LinearParts::not_linear; }
  bool is_positive(std::int32_t index) const;
  const formula::Node& node_of(std::int32_t index) const {
    return tree_.nodes()[static_cast<std::size_t>(index)];
  }

  const formula::Tree& tree_;
  LinearParts parts_;
};

}  // namespace tessera::integrate_batch
