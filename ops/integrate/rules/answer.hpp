// SPDX-License-Identifier: Apache-2.0
// What every rule gives back: the value, how far it may be off and from what cause, and why the rule
// stopped. A rule that cannot vouch for its value says so here; none throws for a difficult integrand.
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
  converged,    // the error estimate meets the tolerance
  evaluations,  // the cap on evaluations was reached
  time,         // the cap on time was reached
  memory,       // the cap on regions was reached
  roundoff,     // rounding alone exceeds the tolerance
  singular,     // a singularity is suspected that the rule cannot resolve
  non_finite,   // the integrand has no finite value where one is needed
  diverges,     // the integral has no finite value, by all that was seen
  unresolved,   // the rule's own limit was reached: another rule or break points may serve
  doubtful,     // two rules disagree, or nothing but zeros was seen
  as_asked,     // so many strips were asked for, and no tolerance
  may_diverge,  // what was seen looks like divergence, but a finite value would, too
  too_large,    // the integral is beyond the largest number of its type
};

struct Tolerance {
  double relative = 1e-10;
  double absolute = 0;

  // Of a value that is no number, or beyond all, nothing is near.
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
  double value = nothing;
  double truncation = infinity;  // what finitely many points leave out
  double rounding = 0;           // what finitely many digits spoil
  double magnitude = 0;          // the integral of |f|
  std::int64_t evaluations = 0;
  Reason reason = Reason::unresolved;
  double where = nothing;          // the abscissa that the reason is about, if any
  std::vector<double> place;       // of several variables: the point that it is about, if any
  std::vector<std::string> names;  // of the variables; none: x, y, z, or x1, x2, …
  const char* rule = "";           // the one that gave the value
  double exponent = nothing;       // p of an error that falls as h^p, where a rule found one
  std::string why;                 // in words: the choice of the rule, and what was seen

  double error() const { return truncation + rounding; }
  bool converged() const { return reason == Reason::converged; }
  // No value at all in a part of the box: whatever rule follows would have to invent them.
  bool undefined() const {
    return (reason == Reason::non_finite || reason == Reason::too_large) && std::isnan(value);
  }
  bool without_limit() const { return reason == Reason::diverges || reason == Reason::may_diverge; }
  // How much rounding of the values is magnified; 1 where f keeps its sign.
  double condition() const { return value == 0 ? infinity : std::fmax(1, magnitude / std::fabs(value)); }
};

std::string words(const Answer& answer);  // the reason, as a sentence says it

// Of an infinite value nothing is claimed but that it is too large.
void judge_size(Answer& answer);

}  // namespace tessera::quadrature
