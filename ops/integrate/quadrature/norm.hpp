// SPDX-License-Identifier: Apache-2.0
// The Euclidean norm.
#pragma once
#include <cmath>
#include <functional>

namespace tessera::quadrature {

// Squares of numbers from 1e-140 to 1e140 neither overflow nor underflow.
inline bool squares_hold(double squares) { return squares > 1e-280 && squares < 1e280; }

// Returns the norm. If the squares overflow or underflow, the numbers are divided by the largest first.
template <class Values, class Of = std::identity>
double norm(const Values& values, const Of& of = {}) {
  double squares = 0;
  for (const auto& value : values) {
    const double x = std::invoke(of, value);
    squares += x * x;
  }
  if (squares_hold(squares)) return std::sqrt(squares);
  double largest = 0;
  for (const auto& value : values) largest = std::fmax(largest, std::fabs(std::invoke(of, value)));
  if (!(largest > 0) || std::isinf(largest)) return largest;
  squares = 0;
  for (const auto& value : values) {
    const double x = std::invoke(of, value) / largest;
    squares += x * x;
  }
  return largest * std::sqrt(squares);
}

}  // namespace tessera::quadrature
