// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/epsilon.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::quadrature {

void Epsilon::add(double member) {
  ++members_;
  std::vector<double> next{member};
  // The even entry with the smallest step from its neighbour is trusted most: beyond it rounding rules.
  double best = member, smallest = infinity;
  for (std::size_t k = 0; k < diagonal_.size(); ++k) {
    const double step = next[k] - diagonal_[k];
    if (std::fabs(step) <= 4 * unit * std::fabs(next[k])) {  // the sequence has come to rest here
      if (k % 2 == 0) {
        best = next[k];
        smallest = std::fabs(step);
      }
      break;
    }
    const double entry = (k == 0 ? 0 : diagonal_[k - 1]) + 1 / step;
    if (!std::isfinite(entry)) break;
    next.push_back(entry);
    if (k % 2 == 0) continue;
    const double change = std::fabs(entry - diagonal_[k - 1]);
    if (change < smallest) {
      smallest = change;
      best = entry;
    }
  }
  diagonal_ = std::move(next);
  earlier_ = std::exchange(before_, limit_);
  limit_ = best;
  if (members_ >= 5)
    error_ =
        std::max({std::fabs(limit_ - before_), std::fabs(limit_ - earlier_), 4 * unit * std::fabs(limit_)});
}

}  // namespace tessera::quadrature
