// SPDX-License-Identifier: Apache-2.0
#include "strips_answer.hpp"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include "falling_error.hpp"
#include "strips.hpp"

namespace tessera::integration {
namespace {

using quadrature::Answer;
using quadrature::Reason;
using Real = long double;

constexpr int least_level = 8, most_level = 13;  // of the sums that show how the error falls
constexpr std::int64_t most_compared = 1 << 22;  // strips of a sum made for comparison only

// What the heights of one of those sums tell.
struct Seen {
  Real sizes = 0, errors = 0, steps = 0;  // mean |height|, mean error of a height, the way up and down
  Real end_errors = 0;                    // those of the first and the last one
  bool above = false, below = false;      // whether there are such heights
  Real hole = quadrature::nothing;        // an abscissa without a finite height
};

Seen look(const Height& height, Real a, Real b, int level) {
  Seen out;
  const std::int64_t strips = std::int64_t{1} << level;
  Real before = 0;
  for (std::int64_t i = 0; i <= strips; ++i) {
    const Real x = a + (b - a) * Real(i) / Real(strips);
    const Bounded y = height(x);
    if (!std::isfinite(y.value)) {
      if (std::isnan(out.hole)) out.hole = x;
      continue;
    }
    out.sizes += std::fabs(y.value);
    out.above |= y.value > 0;
    out.below |= y.value < 0;
    if (std::isfinite(y.error)) (i == 0 || i == strips ? out.end_errors : out.errors) += y.error;
    if (i > 0) out.steps += std::fabs(y.value - before);
    before = y.value;
  }
  out.sizes /= Real(strips + 1);
  out.errors /= Real(strips + 1);
  return out;
}

Real rounding_of(const Summed& s, const Seen& seen) {
  const Real length = std::fabs(Real(s.b) - s.a), n = Real(s.strips), u = s.unit;
  const Real largest = std::max(std::fabs(Real(s.a)), std::fabs(Real(s.b)));
  // Each abscissa is rounded; where widths are added again and again, so is each addition.
  const Real astray = 2 * u * largest * (s.accumulated ? n : 1);
  return (lost_by(s.sum, n + 2, u) + 3 * u) * seen.sizes * length + seen.errors * length +
         seen.end_errors * length / n + std::min(astray, length) * seen.steps;
}

// Whether finite heights alone have become an infinite sum.
bool overflows(const Summed& s, const Seen& seen) {
  const bool single = s.unit > std::numeric_limits<double>::epsilon();
  const Real largest = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return std::isnan(seen.hole) && seen.sizes * Real(s.strips) > largest / 2;
}

// What sums of a half, a quarter … of the strips leave to expect, if the error falls at least like the width.
Real by_comparison(const Summed& s, const SumOf& sum_of) {
  constexpr int halvings = 4;
  Real out = 0, finer = s.value;
  std::int64_t strips = std::min(s.strips / 2, most_compared);
  if (strips < 1) {  // one strip has no half
    const Real fine = sum_of(64 * s.strips);
    return 2 * std::fabs(fine - s.value);
  }
  const Real all = Real(s.strips);
  // A number of strips that shares no factor with theirs: a wave in step with one sum is not so with both.
  if (const std::int64_t odd = strips + strips / 4 + 1; s.strips > 4) {
    const std::int64_t other = std::gcd(odd, s.strips) == 1 ? odd : odd + 1;
    out = std::fabs(sum_of(other) - finer) * std::min(Real(1), 2 * Real(other) / all);
  }
  for (int i = 0; i < halvings && strips >= 1; ++i, strips /= 2) {
    const Real sum = sum_of(strips);
    out = std::max(out, std::fabs(sum - finer) * std::min(Real(1), 2 * Real(strips) / all));
    finer = sum;
  }
  return out;
}

int level_for(std::int64_t strips) {
  int level = least_level;
  while (level < most_level && (std::int64_t{4} << level) <= strips) ++level;
  return level;
}

void say(Answer& out, const char* words) { out.why += (out.why.empty() ? "" : "; ") + std::string(words); }

// Few strips are in step with many waves: these are not in step with any number of strips.
Real by_more_strips(const Summed& s, const SumOf& sum_of) {
  constexpr std::int64_t few = 4096, more[] = {8191, 6007};  // primes
  Real out = 0;
  if (s.strips <= few)
    for (const std::int64_t strips : more) out = std::max(out, std::fabs(sum_of(strips) - Real(s.value)));
  return out;
}

// False: the rule has no integral that could speak for the sum.
bool hold_against(Answer& out, const Answer& rule) {
  if (rule.without_limit()) out.truncation = quadrature::infinity;
  if (!std::isfinite(rule.value)) return false;
  const double apart = std::fabs(out.value - rule.value);
  if (!(apart <= out.error() + rule.error())) {
    out.truncation = apart + (rule.converged() ? rule.error() : 0);
    say(out, "a rule that knows the formula's text has another value");
  } else if (rule.converged() && rule.error() <= apart / 8)
    out.truncation = std::fmax(out.truncation, apart + rule.error());
  return rule.converged();
}

void judge(Answer& out, const quadrature::Tolerance* tolerance, bool vouched_for) {
  out.reason = Reason::as_asked;
  if (tolerance == nullptr) return;
  const bool near = out.error() <= tolerance->of(out.value);
  out.reason = near && vouched_for ? Reason::converged : Reason::unresolved;
  if (!near) say(out, "the tolerance needs more strips");
  else if (!vouched_for) say(out, "sums of other strips agree, but no rule confirms them");
}

}  // namespace

Real lost_by(Sum sum, Real n, Real u) {
  const Real levels = std::ceil(std::log2(n)) + 2;
  switch (sum) {
    case Sum::plain:
      return n * u;  // whatever the order, and however large
    case Sum::pairwise:
      return (pairwise_leaf + levels + 2) * u * 1.01L;
    case Sum::kahan:
      return 4 * u + 8 * n * u * u;
    case Sum::double_float:
      return u + 16 * n * u * u;
    case Sum::exact:
      return u;
  }
  return std::numeric_limits<Real>::infinity();
}

Answer strips_answer(const Summed& s, const Height& height, const SumOf& sum_of,
                     const quadrature::Tolerance* tolerance, const Answer* rule) {
  Answer out;
  out.value = s.value;
  out.evaluations = s.strips + 1;
  out.rule = "trapezoid";
  const int level = level_for(s.strips);
  const Seen seen = look(height, s.a, s.b, level);
  const Real length = std::fabs(Real(s.b) - s.a);
  out.magnitude = seen.above && seen.below ? static_cast<double>(seen.sizes * length) : std::fabs(s.value);
  out.rounding = static_cast<double>(rounding_of(s, seen));
  if (!std::isfinite(s.value)) {
    out.reason = overflows(s, seen) ? Reason::too_large : Reason::non_finite;
    out.where = static_cast<double>(seen.hole);
    if (out.reason == Reason::too_large)
      out.why =
          "the heights' sum has overflowed, which their integral need not: --scale-at term, or a rule "
          "without "
          "--strips, may hold it";
    return out;
  }
  const auto value_at = [&](Real x) { return height(x).value; };
  const auto falling = falling_error(doubled_sums(value_at, s.a, s.b, level), Real(s.b) - s.a, s.height_unit);
  if (falling) {
    const Real expected =
        std::fabs(falling->factor) * std::pow(length / Real(s.strips), Real(falling->exponent));
    const Real off = std::fabs(Real(s.value) - falling->limit);
    out.exponent = falling->exponent;
    out.why = fmt::format("the error of the trapezoid sum falls as h^{:.3g}", out.exponent);
    // Sums of few strips vouch for many only where these come out as those promise.
    if (off <= 1.5L * expected + out.rounding)
      out.truncation =
          static_cast<double>(1.1L * std::max(expected, off - out.rounding));  // the limit is extrapolated
  }
  const bool falls = std::isfinite(out.truncation);
  if (!falls)
    out.truncation = static_cast<double>(std::max(by_comparison(s, sum_of), by_more_strips(s, sum_of)));
  const bool confirmed = rule == nullptr || hold_against(out, *rule);
  judge(out, tolerance, confirmed || falls);
  return out;
}

}  // namespace tessera::integration
