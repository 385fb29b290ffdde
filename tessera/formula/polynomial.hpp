// SPDX-License-Identifier: Apache-2.0
// Polynomials whose coefficients are computed exactly or not at all: a root that rounding has moved is no
// root.
#pragma once
#include <optional>
#include <vector>

namespace tessera::formula {

class Exact {
 public:
  double sum(double a, double b);
  double product(double a, double b);
  double quotient(double a, double b);
  bool holds() const { return holds_; }  // nothing was rounded so far

 private:
  void keep(bool exact) { holds_ = holds_ && exact; }
  bool holds_ = true;
};

using Polynomial =
    std::vector<double>;  // from the constant upwards, the last not 0 unless it is the only one
using Maybe = std::optional<Polynomial>;
inline constexpr std::size_t most_terms = 9;

Maybe scaled_sum(const Polynomial& a, double by, const Polynomial& b);  // a + by·b, by = ±1
Maybe product(const Polynomial& a, const Polynomial& b);
Maybe power(const Polynomial& base, const Polynomial& exponent);
Maybe quotient(const Polynomial& a, const Polynomial& b);
Maybe shifted(Polynomial p, double at, double side);  // p(at + side·d) as a polynomial of d

}  // namespace tessera::formula
