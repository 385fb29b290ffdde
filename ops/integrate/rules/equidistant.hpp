// SPDX-License-Identifier: Apache-2.0
// Rules of evenly spaced points: the trapezoid sum with Richardson's elimination, whose exponents are
// read off the sums themselves, Simpson's rule, and both for tables of samples.
// Installed: for programs.
#pragma once
#include <span>
#include <vector>
#include "integrand.hpp"

namespace tessera::quadrature {

// Halves the strips of a finite range, each time evaluating only the new points. An end without a finite
// value counts as 0, which changes the exponent, not the limit.
class Trapezoid {
 public:
  explicit Trapezoid(Sampler& sampler) : sampler_(sampler) {}

  bool refine();                                             // false: a cap, or a value that is not finite
  const std::vector<double>& sums() const { return sums_; }  // with 1, 2, 4 … strips
  double magnitude() const { return step_ * magnitude_; }
  bool one_sign() const { return !(above_ && below_); }  // of all values seen: then ∫|f| is |∫f|
  double where() const { return where_; }

 private:
  bool add(std::int64_t first, std::int64_t stride, std::int64_t count);

  Sampler& sampler_;
  std::vector<double> sums_;
  double sum_ = 0, carry_ = 0, magnitude_ = 0, step_ = 0, where_ = nothing;
  std::int64_t strips_ = 0;
  bool above_ = false, below_ = false;
};

// p of an error that falls as h^p, from three sums of halved steps; NaN where they show none.
double exponent(double coarse, double middle, double fine);

Answer trapezoid(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {});
Answer simpson(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
               const Limits& limits = {});

// Samples at any ordered abscissae. The error is the difference to every second sample and the last; of two,
// of which none can be left out, it is infinite. Throws Error where x is not strictly increasing.
Answer trapezoid_of(std::span<const double> x, std::span<const double> y);
Answer simpson_of(std::span<const double> x, std::span<const double> y);

}  // namespace tessera::quadrature
