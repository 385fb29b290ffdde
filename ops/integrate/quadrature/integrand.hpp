// SPDX-License-Identifier: Apache-2.0
// The integrand as the rules of one variable see it: values for many points in one call, so that formulas,
// C++ callables and SIMD code all fit.
//
// Besides x the integrand gets its distance to the nearer end of the range. Near an end other than 0 the
// rounded x keeps few digits of that distance, and (1-x)^-0.8 can only be integrated from 1-x itself.
// Installed: for programs.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>
#include "answer.hpp"

namespace tessera::quadrature {

struct Range {
  double lower = 0, upper = 1;
  double rounding = unit;  // of an abscissa, in the type that the integrand computes in

  bool single() const { return rounding > unit; }
  bool finite() const { return std::isfinite(lower) && std::isfinite(upper); }
  bool contains(double x) const { return lower < x && x < upper; }  // inside, not at an end
  // The distance that an integrand is given for a point within.
  double distance(double x) const {
    if (std::isinf(lower) && std::isinf(upper)) return 0;
    if (std::isinf(upper)) return x - lower;
    if (std::isinf(lower)) return x - upper;
    return x - lower <= upper - x ? x - lower : x - upper;
  }
};

struct Integrand {
  // distance[i] >= 0: x[i] is that far above the lower limit; < 0: that far below the upper one.
  // 0 everywhere where both limits are infinite.
  using Values =
      std::function<void(std::span<const double> x, std::span<const double> distance, std::span<double> y)>;

  Values values;
  // Near the lower, near the upper end: values are computed from the distance.
  bool knows[2] = {false, false};
  // The rest is optional.
  Values errors = {};                                                  // how far each value may be off
  std::function<std::vector<double>(const Range& range)> breaks = {};  // where f is not smooth
  std::function<Integrand(const Range& part)> within = {};             // the same f for a part of the range
  std::optional<double> constant = {};                                 // its value, if f is constant
};

// A callable of x alone.
template <class F>
Integrand plain(F f) {
  return {[f = std::move(f)](std::span<const double> x, std::span<const double>, std::span<double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
  }};
}

// A callable of x and the distance.
template <class F>
Integrand with_distance(F f) {
  return {
      [f = std::move(f)](std::span<const double> x, std::span<const double> distance, std::span<double> y) {
        for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i], distance[i]);
      },
      {true, true}};
}

// A part of the range, and the integrand with distances to the ends of that part.
class Part {
 public:
  Part(const Integrand& f, const Range& whole, const Range& part);  // keeps a reference to f

  const Integrand& f() const { return own_ ? *own_ : *f_; }
  const Range& range() const { return range_; }

 private:
  const Integrand* f_;
  std::optional<Integrand> own_;
  Range range_;
};

// The range, cut at those of `points` that lie inside.
std::vector<Range> cut(const Range& range, std::span<const double> points);

// Evaluates within the caps, and counts. One for each answer.
class Sampler {
 public:
  explicit Sampler(const Limits& limits) : limits_(limits) {}

  // False when a cap forbids it: nothing was evaluated then.
  bool values(const Integrand& f, std::span<const double> x, std::span<const double> distance,
              std::span<double> y);
  bool values(const Part& part, std::span<const double> x, std::span<double> y);  // finds the distances
  double value(const Part& part, double x);                                       // NaN beyond a cap

  const Limits& limits() const { return limits_; }
  std::int64_t evaluations() const { return evaluations_; }
  bool exhausted() const { return exhausted_; }
  Reason cap() const { return cap_; }

 private:
  bool late(std::int64_t next);

  Limits limits_;
  std::chrono::steady_clock::time_point start_ = {};
  // When the clock is read next; evaluations before the first look are timed by the later ones.
  std::int64_t evaluations_ = 0, next_look_ = 256, untimed_ = 0;
  bool exhausted_ = false;
  Reason cap_ = Reason::evaluations;
};

}  // namespace tessera::quadrature
