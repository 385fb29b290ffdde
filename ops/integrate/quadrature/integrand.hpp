// SPDX-License-Identifier: Apache-2.0
// The argument and result types of the rules of one variable. The integrand computes many points in one call,
// which suits formulas, C++ callables and SIMD code. The answer holds the value, an error estimate and its
// parts, and the reason why the rule stopped: no rule throws for a difficult integrand.
//
// Besides x the integrand gets the distance of x to the nearer end of the range. Near an end other than 0,
// the rounded x keeps few digits of that distance; (1-x)^-0.8 can only be integrated from 1-x itself.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::quadrature {

inline constexpr double unit = 0x1p-53;  // half a unit in the last place of 1
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

enum class Reason {
  converged,     // the error estimate meets the tolerance
  evaluations,   // the cap on evaluations was reached
  time,          // the cap on time was reached
  memory,        // the cap on regions was reached
  roundoff,      // rounding alone exceeds the tolerance
  singular,      // a singularity is suspected that the rule cannot resolve
  non_finite,    // the integrand has no finite value where one is needed
  diverges,      // the integral has no finite value, as far as was seen
  unresolved,    // the rule's own limit was reached: another rule or break points may help
  doubtful,      // two rules disagree, or nothing but zeros was seen
  as_requested,  // strips were requested, but no tolerance
  may_diverge,   // the integrand grows so fast that the integral may have no finite value
  too_large,     // the integral is beyond the largest number of its type
};

struct Tolerance {
  double relative = 1e-10;
  double absolute = 0;

  // Returns the allowed error of this value; 0 if it is not finite.
  double of(double value) const {
    return std::isfinite(value) ? std::fmax(absolute, relative * std::fabs(value)) : 0;
  }
};

// Evaluations end the work before it, so that answers do not depend on the load of the machine.
inline constexpr double usual_seconds = 1e6;

struct Limits {
  std::int64_t evaluations = 4'000'000;
  double seconds = usual_seconds;
  std::int64_t regions = 1 << 17;  // pieces held in memory at once
};

struct [[nodiscard]] Answer {
  double value = nan;            // NaN: there is no value
  double truncation = infinity;  // error of using finitely many points
  double rounding = 0;           // error of computing with finitely many digits
  double magnitude = 0;          // the integral of |f|
  std::int64_t evaluations = 0;
  Reason reason = Reason::unresolved;
  double where = nan;              // the abscissa that the reason refers to, if any
  std::vector<double> place;       // the point in several variables
  std::vector<std::string> names;  // variables; none: x, y, z, or x1, x2, …
  const char* rule = "";           // the rule that gave the value
  // No feature that is wider was missed; infinite: unknown. On infinite stretches of the range it is a share
  // of the distance from the nearest cut, finite limit or 0 where that exceeds 1, as far as 1e6 from there.
  double width = infinity;
  double exponent = nan;  // p of an error that falls as h^p, where a rule found one
  std::string why;        // in words: which rules ran, and what they saw

  double error() const { return truncation + rounding; }
  bool converged() const { return reason == Reason::converged; }
  bool without_limit() const { return reason == Reason::diverges || reason == Reason::may_diverge; }
  // True if there is no integral, as far as was seen.
  bool undefined() const {
    return std::isnan(value) &&
           (reason == Reason::non_finite || reason == Reason::too_large || without_limit());
  }
  // Returns the factor by which rounding of the values is magnified; 1 if f keeps its sign.
  double condition() const { return value == 0 ? infinity : std::fmax(1, magnitude / std::fabs(value)); }
};

// The integral over nothing.
inline Answer nothing() {
  Answer out;
  out.value = out.truncation = 0;
  return out;
}

std::string reason_text(const Answer& answer);

// Marks an infinite value as too large, with an infinite error.
void judge_size(Answer& answer);

struct Range {
  double lower = 0, upper = 1;
  double rounding = unit;  // unit roundoff of an abscissa in the integrand's type

  bool single() const { return rounding > unit; }
  bool finite() const { return std::isfinite(lower) && std::isfinite(upper); }
  bool contains(double x) const { return lower < x && x < upper; }  // inside, not at an end
  // Returns the distance argument of the integrand for a point inside.
  double distance(double x) const {
    if (std::isinf(lower) && std::isinf(upper)) return 0;
    if (std::isinf(upper)) return x - lower;
    if (std::isinf(lower)) return x - upper;
    return x - lower <= upper - x ? x - lower : x - upper;
  }
};

// Calls f(from, x, distance) for pieces of the points, which begin with point `from`, and their distances to
// the ends of the range. Stops and returns false if f does.
template <class F>
bool with_distances(const Range& range, std::span<const double> x, const F& f) {
  constexpr std::size_t chunk = 256;
  double distance[chunk];
  for (std::size_t from = 0; from < x.size(); from += chunk) {
    const std::span<const double> some = x.subspan(from, std::min(chunk, x.size() - from));
    for (std::size_t i = 0; i < some.size(); ++i) distance[i] = range.distance(some[i]);
    if (!f(from, some, std::span<const double>(distance, some.size()))) return false;
  }
  return true;
}

struct Integrand {
  // distance[i] >= 0: x[i] is that far above the lower limit; < 0: that far below the upper one; 0 if both
  // limits are infinite.
  using Values =
      std::function<void(std::span<const double> x, std::span<const double> distance, std::span<double> y)>;

  Values values;
  // True if values near the lower end (0), the upper end (1) are computed from the distance.
  bool knows[2] = {false, false};
  // The rest is optional.
  Values errors = {};                                                  // error bounds of the values
  std::function<std::vector<double>(const Range& range)> breaks = {};  // abscissae where f is not smooth
  std::function<Integrand(const Range& part)> within = {};             // the same f for a part of the range
  std::optional<double> constant = {};                                 // its value, if f is constant
  // undefined: x is outside of f's domain, as in sqrt(-1). overflow: f is finite, but an intermediate result
  // overflowed.
  enum class Defect : std::uint8_t { none, undefined, overflow };
  std::function<Defect(double x, double distance)> defect = {};
};

// Wraps a callable of x alone.
template <class F>
Integrand plain(F f) {
  return {[f = std::move(f)](std::span<const double> x, std::span<const double>, std::span<double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
  }};
}

// Wraps a callable of x and the distance.
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

// Returns the range, cut at those of `points` that lie inside.
std::vector<Range> cut(const Range& range, std::span<const double> points);

// Evaluates within the caps, and counts evaluations. Each answer has its own Sampler.
class Sampler {
 public:
  explicit Sampler(const Limits& limits) : limits_(limits) {}

  // Returns false if a cap forbids it, and nothing was evaluated.
  bool values(const Integrand& f, std::span<const double> x, std::span<const double> distance,
              std::span<double> y);
  bool values(const Part& part, std::span<const double> x, std::span<double> y);  // computes the distances
  double value(const Part& part, double x);                                       // NaN beyond a cap

  const Limits& limits() const { return limits_; }
  std::int64_t evaluations() const { return evaluations_; }
  bool exhausted() const { return exhausted_; }
  Reason cap() const { return cap_; }

 private:
  bool late(std::int64_t next);

  Limits limits_;
  std::chrono::steady_clock::time_point start_ = {};
  // next_look_: the count at which the clock is read next; untimed_: evaluations before the first reading.
  std::int64_t evaluations_ = 0, next_look_ = 256, untimed_ = 0;
  bool exhausted_ = false;
  Reason cap_ = Reason::evaluations;
};

}  // namespace tessera::quadrature
