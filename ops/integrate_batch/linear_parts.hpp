// SPDX-License-Identifier: Apache-2.0
// Parts of a formula that are linear in its variable, as texts: x-k is 0 at k to the last bit, however large
// k is.
#pragma once
#include <string>
#include <vector>
#include "tessera/formula/tree.hpp"

namespace tessera::integrate_batch {

// slope·x + rest; empty: 0.
struct Linear {
  std::string slope, rest;

  std::string zero() const { return rest.empty() ? "0" : "-" + rest + "/" + slope; }
};

class LinearParts {
 public:
  static constexpr int not_linear = 2;

  LinearParts(const formula::Tree& tree, const std::string& variable);

  int degree(std::int32_t index) const { return index < 0 ? 0 : degrees_[static_cast<std::size_t>(index)]; }
  std::string text(std::int32_t index) const;  // of a part without the variable
  Linear linear(std::int32_t index) const;     // of a part whose degree is below 2
  // Of a part that abs() makes of linear ones: all that it may be. Empty: it is something else, or too much.
  std::vector<Linear> branches(std::int32_t index) const;

 private:
  int degree_of(const formula::Node& node) const;
  std::vector<Linear> joined_branches(const formula::Node& node) const;

  const formula::Tree& tree_;
  std::string variable_;
  std::vector<int> degrees_;
};

// a + b, a - b; a·b, a/b. Empty: 0.
std::string joined(const std::string& a, const char* sign, const std::string& b);
std::string scaled(const std::string& a, const char* sign, const std::string& b);

bool compares(formula::Op op);  // and min, max

}  // namespace tessera::integrate_batch
