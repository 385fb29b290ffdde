// SPDX-License-Identifier: Apache-2.0
// Integrals over half-infinite ranges whose tail never stops oscillating, such as that of sin(x)/x; tanh-sinh
// fails for them. The integrals between the zeros of f form an alternating series, whose limit Wynn's
// epsilon algorithm finds.
#pragma once
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::quadrature {

// Wynn's epsilon algorithm: the limit of a sequence whose error is a sum of powers.
class Epsilon {
 public:
  void add(double member);
  double limit() const { return limit_; }
  // Returns the largest difference of the last limits; infinity before there are enough of them.
  double error() const { return error_; }

 private:
  std::vector<double> diagonal_;  // the last ascending diagonal of the table
  double limit_ = nan, before_ = nan, earlier_ = nan, error_ = infinity;
  int members_ = 0;
};

// The tail of a half-infinite part: f(start + direction·s), s >= 0.
struct Tail {
  double start = 0;  // a zero of f
  int direction = 1;
  std::vector<double> zeros;  // distances from `start`; the first is 0. Empty: f does not oscillate
  double gap = nan;           // the distance between peaks, if they are evenly spaced
};

Tail find_tail(Sampler& sampler, const Part& part);

// Returns the integral over the tail, as an alternating series from zero to zero, compared with the series
// between the middles of the zeros, which has other terms, other points and another Gauss-Kronrod pair.
Answer integrate_tail(Sampler& sampler, const Part& part, const Tail& tail);

// Returns the integral over a tail whose peaks are evenly spaced while its sign may stay, as in sin(x)^2/x^2:
// means over its period are smooth. tail.start says where it begins, NaN: there is no such tail.
Answer integrate_periodic_tail(Sampler& sampler, const Part& part, Tail& tail);

// Integrates as such a series from a zero on, and by tanh_sinh before it. Throws Error for a range
// without exactly one infinite limit.
Answer oscillatory(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                   std::span<const double> points);

}  // namespace tessera::quadrature
