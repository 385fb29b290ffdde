// SPDX-License-Identifier: Apache-2.0
// How far rounding may take an element of C, and what becomes of it where a sum overflows.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include "matmul.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

// double holds a product of floats, and of anything shorter, exactly; long double also holds what overflows
// double.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
static_assert(std::numeric_limits<long double>::digits >= 64 &&
              std::numeric_limits<long double>::max_exponent >= 16384);

template <class T>
bool is_whole(T value) {
  return std::fabs(value) <= static_cast<T>(0x1p53) &&
         static_cast<T>(static_cast<std::int64_t>(value)) == value;
}

// γ such that an honest rung's error stays below γ·(|α|·|A|·|B| + |β|·|C0|), element by element.
//
// An element of C is a sum of k + 1 terms α·a·b and β·c0, each of which passes through at most k + 3
// roundings in whatever order and association a rung sums. Always γ ≤ (k+3)u / (1 - (k+3)u), and, a sum's
// error being at most (k+1)u·Σ|terms| for any k (C.-P. Jeannerod and S. M. Rump, "Improved error bounds for
// inner products in floating-point arithmetic", SIAM J. Matrix Anal. Appl. 34(2), 2013), γ ≤ (1+(k+1)u)(1+u)³
// - 1. Of random data roundings are as if independent with mean zero, and then γ ≤ exp(λ√(k+3)·u +
// (k+3)u²/(1-u)) - 1 but for a probability of 2·exp(-λ²(1-u)²/2) for each of the roundings (N. J. Higham and
// T. Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019,
// theorems 2.4 and 3.1). λ is such that no element of a whole product exceeds it but for a probability of
// 10⁻⁶. Of other data this cannot be asked: equal terms, for one, are all rounded the same way.
double rounding_growth(const Arguments& arguments, double unit_roundoff, Data data);

// What one element of C may be. T: float or double.
template <class T>
class Bound {
 public:
  Bound(const Arguments& arguments, const Problem<T>& p, Data data);

  // Element (i, j). `sum` is that of its products, `product` that of their magnitudes; `whole`: its row
  // of A, its column of B and its c0 are whole numbers.
  void append(std::int64_t i, std::int64_t j, Wide<T> sum, double product, bool whole,
              Expected& expected) const;

 private:
  using limits = std::numeric_limits<T>;
  struct Terms;

  Terms terms_of(std::int64_t i, std::int64_t j) const;
  void append_overflowing(const Terms& terms, Expected& expected) const;

  static constexpr double unit_ = static_cast<double>(limits::epsilon()) / 2;
  Problem<T> p_;
  double growth_, always_;  // γ for this data, and for any
  double count_;            // of roundings that a term may pass through
  double alpha_, beta_;     // their magnitudes
  bool scales_whole_;
};

extern template class Bound<float>;
extern template class Bound<double>;

}  // namespace tessera::matmul
