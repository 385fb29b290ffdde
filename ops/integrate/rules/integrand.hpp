// SPDX-License-Identifier: Apache-2.0
// The integrand as the rules see it: values for many points in one call, so that text, C++ callables
// and SIMD code all fit, and no rule pays a call for each point.
//
// Besides x comes its distance to an end of the range. Near an end other than 0 the rounded x keeps few
// digits of that distance, and a singular integrand lives on just those: (1-x)^-0.8 can only be
// integrated from 1-x itself.
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
  // The distance that an integrand is told for a point within.
  double distance(double x) const {
    if (std::isinf(lower) && std::isinf(upper)) return 0;
    if (std::isinf(upper)) return x - lower;
    if (std::isinf(lower)) return x - upper;
    return x - lower <= upper - x ? x - lower : x - upper;
  }
};

// What a formula tells that no value does.
struct Features {
  std::vector<double> breaks;   // where it is not smooth: cut there
  std::vector<double> centres;  // where a part of it changes sign: a narrow peak may stand there
  std::vector<double> needles;  // where one stands: cut there
  std::vector<double> widths;   // of these
  bool crowded = false;         // there are more of these than can be looked at
};

struct Integrand {
  // distance[i] >= 0: x[i] is that far above the lower limit; < 0: that far below the upper one.
  // 0 everywhere where both limits are infinite.
  using Values =
      std::function<void(std::span<const double> x, std::span<const double> distance, std::span<double> y)>;

  Values values;
  bool knows[2] = {false,
                   false};  // near the lower, near the upper end: values are computed from the distance
  std::function<Features(const Range&)> features = {};  // optional
  // Optional: how far each value may be off by the integrand's own rounding, the abscissa being exact.
  Values errors = {};
  // Optional, where values are computed in f32: the same in f64, from x alone.
  std::function<void(std::span<const double> x, std::span<double> y)> in_double = {};
  // Optional: the same integrand over a part of its range, which is told the distances to the part's ends.
  std::function<Integrand(const Range& part)> within = {};
  std::optional<double> constant = {};  // its value, if it is the same everywhere
  // Optional: how much each value would move if comparisons and steps that the integrand's rounding leaves
  // open came out the other way; NaN: there is no value then.
  Values open = {};
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

// Evaluates within the caps, and counts. One for each answer.
class Sampler {
 public:
  Sampler(const Integrand& f, const Range& range, const Limits& limits)
      : f_(f), range_(range), limits_(limits) {}

  // False when a cap forbids it: nothing was evaluated then.
  bool operator()(std::span<const double> x, std::span<const double> distance, std::span<double> y);
  bool operator()(std::span<const double> x, std::span<double> y);  // finds the distances itself
  double at(double x);                                              // NaN beyond a cap

  const Integrand& integrand() const { return f_; }
  const Range& range() const { return range_; }
  const Limits& limits() const { return limits_; }
  std::int64_t evaluations() const { return evaluations_; }
  bool exhausted() const { return exhausted_; }
  Reason cap() const { return cap_; }
  // Lowers the cap for one stage; the old one comes back with the result of this call.
  std::int64_t allow(std::int64_t evaluations) { return std::exchange(limits_.evaluations, evaluations); }
  void resume() { exhausted_ = cap_ == Reason::time; }

 private:
  bool late(std::int64_t next);

  const Integrand& f_;
  Range range_;
  Limits limits_;
  std::chrono::steady_clock::time_point start_ = {};
  // At the clock, which costs as much as some evaluations; those before the first look are not timed.
  std::int64_t evaluations_ = 0, next_look_ = 256, uncounted_ = 0;
  bool exhausted_ = false;
  Reason cap_ = Reason::evaluations;
};

}  // namespace tessera::quadrature
