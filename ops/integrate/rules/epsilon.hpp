// SPDX-License-Identifier: Apache-2.0
// Wynn's epsilon algorithm: the limit of a sequence whose error is a sum of powers, from its members.
#pragma once
#include <vector>
#include "ops/integrate/rules/answer.hpp"

namespace tessera::quadrature {

class Epsilon {
 public:
  void add(double member);
  double limit() const { return limit_; }
  // How far the last limits lie apart; infinity before there are enough of them.
  double error() const { return error_; }

 private:
  std::vector<double> diagonal_;  // the last ascending diagonal of the table
  double limit_ = nothing, before_ = nothing, earlier_ = nothing, error_ = infinity;
  int members_ = 0;
};

}  // namespace tessera::quadrature
