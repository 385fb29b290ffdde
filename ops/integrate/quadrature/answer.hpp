// SPDX-License-Identifier: Apache-2.0
// What every rule returns: the value, an error estimate and its parts, and why the rule stopped. No rule
// throws for a difficult integrand.
// Installed: for programs.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tessera::quadrature {

inline constexpr double unit = 0x1p-53;  // half a unit in the last place of 1
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

enum class Reason {
  converged,     // the error estimate meets the tolerance
  evaluations,   // the cap on evaluations was reached
  time,          // the cap on time was reached
  memory,        // the cap on regions was reached
  roundoff,      // rounding alone exceeds the tolerance
  singular,      // a singularity is suspected that the rule cannot resolve
  non_finite,    // the integrand has no finite value where one is needed
  diverges,      // the integral has no finite value, by all that was seen
  unresolved,    // the rule's own limit was reached: another rule or break points may serve
  doubtful,      // two rules disagree, or nothing but zeros was seen
  as_requested,  // so many strips were asked for, and no tolerance
  may_diverge,   // the integrand grows so fast that the integral may have no finite value
  too_large,     // the integral is beyond the largest number of its type
};

struct Tolerance {
  double relative = 1e-10;
  double absolute = 0;

  // The error that is allowed of this value; 0 where the value is not finite.
  double of(double value) const {
    return std::isfinite(value) ? std::fmax(absolute, relative * std::fabs(value)) : 0;
  }
};

struct Limits {
  std::int64_t evaluations = 4'000'000;
  double seconds = 10;
  std::int64_t regions = 1 << 17;  // pieces held in memory at once
};

struct Answer {
  double value = nothing;        // NaN: there is none
  double truncation = infinity;  // error of using finitely many points
  double rounding = 0;           // error of computing with finitely many digits
  double magnitude = 0;          // the integral of |f|
  std::int64_t evaluations = 0;
  Reason reason = Reason::unresolved;
  double where = nothing;          // the abscissa that the reason is about, if any
  std::vector<double> place;       // the same in several variables
  std::vector<std::string> names;  // of the variables; none: x, y, z, or x1, x2, …
  const char* rule = "";           // the one that gave the value
  double exponent = nothing;       // p of an error that falls as h^p, where a rule found one
  std::string why;                 // in words: which rules ran, and what they saw

  double error() const { return truncation + rounding; }
  bool converged() const { return reason == Reason::converged; }
  // The integrand has no value in a part of the range.
  bool undefined() const {
    return (reason == Reason::non_finite || reason == Reason::too_large) && std::isnan(value);
  }
  bool without_limit() const { return reason == Reason::diverges || reason == Reason::may_diverge; }
  // How much rounding of the values is magnified; 1 where f keeps its sign.
  double condition() const { return value == 0 ? infinity : std::fmax(1, magnitude / std::fabs(value)); }
};

std::string reason_text(const Answer& answer);

// Of an infinite value nothing is claimed but that it is too large.
void judge_size(Answer& answer);

}  // namespace tessera::quadrature
