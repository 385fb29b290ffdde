// SPDX-License-Identifier: Apache-2.0
#include "trapezoid_error.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::integration {
namespace {

using quadrature::Answer;
using quadrature::Reason;
using Real = long double;

constexpr int first_level = 4;

// Returns the exponent of sums whose differences shrink by a constant factor, a multiple of 1/2; nullopt:
// none.
std::optional<Real> exponent_of(const std::vector<Real>& sums, Real unit) {
  const std::size_t n = sums.size();
  if (n < 3) return std::nullopt;
  const Real before = sums[n - 2] - sums[n - 3], last = sums[n - 1] - sums[n - 2];
  const Real noise = 64 * std::fabs(sums[n - 1]) * unit;
  if (!(std::fabs(last) > noise)) return std::nullopt;
  const Real found = std::log2(before / last), half = std::round(2 * found) / 2;
  return half > 0 && std::fabs(found - half) < 0.1L ? std::optional(half) : std::nullopt;
}

// Eliminates the error that falls with this exponent.
std::vector<Real> without(const std::vector<Real>& sums, Real exponent) {
  const Real factor = std::exp2(exponent);
  std::vector<Real> out;
  for (std::size_t i = 1; i < sums.size(); ++i)
    out.push_back((factor * sums[i] - sums[i - 1]) / (factor - 1));
  return out;
}

}  // namespace

std::vector<Real> doubled_sums(const std::function<Real(Real)>& f, Real a, Real b, int finest) {
  std::vector<Real> out;
  Real total = (f(a) + f(b)) / 2;
  for (int level = 0; level <= finest; ++level) {
    const std::int64_t strips = std::int64_t{1} << level;
    Real between = 0;
    if (level > 0)
      for (std::int64_t i = 1; i < strips; i += 2) between += f(a + (b - a) * Real(i) / Real(strips));
    total += between;
    out.push_back(total * (b - a) / Real(strips));
  }
  return out;
}

std::optional<Convergence> convergence_of(const std::vector<Real>& sums, Real length, Real unit) {
  if (sums.size() <= first_level) return std::nullopt;
  const std::vector<Real> all(sums.begin() + first_level, sums.end());
  const auto first = exponent_of(all, unit);
  if (!first) return std::nullopt;
  std::vector<Real> rest = all;
  for (auto exponent = first; exponent; exponent = exponent_of(rest, unit)) rest = without(rest, *exponent);
  const Real limit = rest.back(), width = length / Real(std::size_t{1} << (sums.size() - 1));
  // The remaining error belongs to the first term, except for terms that fall faster, which are eliminated.
  std::vector<Real> factors;
  for (std::size_t i = 0; i < all.size(); ++i)
    factors.push_back(
        (all[i] - limit) /
        std::pow(std::fabs(width) * static_cast<Real>(std::size_t{1} << (all.size() - 1 - i)), *first));
  for (int term = 1; term <= 3; ++term) factors = without(factors, term);
  return Convergence{static_cast<double>(*first), static_cast<double>(factors.back()), limit};
}

namespace {

constexpr int min_level = 8,
              max_level = 13;  // range of refinement levels (2^level strips) used to estimate the convergence
constexpr std::int64_t max_compared = 1 << 22;  // strips of a sum made for comparison only

// Statistics of the samples of one of those sums.
struct SampleStatistics {
  Real sizes = 0, errors = 0, steps = 0;  // mean |sample|, mean error of a sample, total variation
  Real end_errors = 0;                    // errors of the first and the last sample
  bool above = false, below = false;      // true: some samples are above, below 0
  Real hole = quadrature::nan;            // an abscissa without a finite sample
};

SampleStatistics look(const SampleAt& sample, Real a, Real b, int level) {
  SampleStatistics out;
  const std::int64_t strips = std::int64_t{1} << level;
  Real before = 0;
  for (std::int64_t i = 0; i <= strips; ++i) {
    const Real x = a + (b - a) * Real(i) / Real(strips);
    const Bounded y = sample(x);
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

Real rounding_of(const TrapezoidSum& s, const SampleStatistics& seen) {
  const Real length = std::fabs(Real(s.b) - s.a), n = Real(s.strips), u = s.unit;
  const Real largest = std::max(std::fabs(Real(s.a)), std::fabs(Real(s.b)));
  // Each abscissa is rounded; if steps are accumulated, so is each addition.
  const Real astray = 2 * u * largest * (s.accumulated ? n : 1);
  return (lost_by(s.sum, n + 2, u) + 3 * u) * seen.sizes * length + seen.errors * length +
         seen.end_errors * length / n + std::min(astray, length) * seen.steps;
}

// True if finite samples alone have become an infinite sum.
bool overflows(const TrapezoidSum& s, const SampleStatistics& seen) {
  const bool single = s.unit > std::numeric_limits<double>::epsilon();
  const Real largest = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return std::isnan(seen.hole) && seen.sizes * Real(s.strips) > largest / 2;
}

// Returns the change from two sums of about half the strips, if the error falls at least like the width. One
// of their numbers of strips has no factor in common with the others, so a wave in step with one sum is not
// in step with all.
Real by_comparison(const TrapezoidSum& s, const SumOf& sum_of) {
  if (s.strips == 1) return 2 * std::fabs(sum_of(64) - Real(s.value));
  const std::int64_t half = std::min(s.strips / 2, max_compared), odd = half + half / 4 + 1;
  Real out = 0;
  for (const std::int64_t strips : {half, std::gcd(odd, s.strips) == 1 ? odd : odd + 1})
    out = std::max(out, std::fabs(sum_of(strips) - Real(s.value)) *
                            std::min(Real(1), 2 * Real(strips) / Real(s.strips)));
  return out;
}

int level_for(std::int64_t strips) {
  int level = min_level;
  while (level < max_level && (std::int64_t{4} << level) <= strips) ++level;
  return level;
}

}  // namespace

Real lost_by(Sum sum, Real n, Real u) {
  const Real levels = std::ceil(std::log2(n)) + 2;
  switch (sum) {
    case Sum::plain:
      return n * u;  // holds for any order of summation and any n
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

Answer trapezoid_answer(const TrapezoidSum& s, const SampleAt& sample, const SumOf& sum_of,
                        const quadrature::Tolerance* tolerance) {
  Answer out;
  out.value = s.value;
  out.evaluations = s.strips + 1;
  out.rule = "trapezoid";
  const int level = level_for(s.strips);
  const SampleStatistics seen = look(sample, s.a, s.b, level);
  const Real length = std::fabs(Real(s.b) - s.a);
  out.magnitude = seen.above && seen.below ? static_cast<double>(seen.sizes * length) : std::fabs(s.value);
  out.rounding = static_cast<double>(rounding_of(s, seen));
  if (!std::isfinite(s.value)) {
    out.reason = overflows(s, seen) ? Reason::too_large : Reason::non_finite;
    out.where = static_cast<double>(seen.hole);
    if (out.reason == Reason::too_large)
      out.why =
          "the sum of the samples has overflowed: --scale-at term, or a rule without --strips, may hold it";
    return out;
  }
  const auto value_at = [&](Real x) { return sample(x).value; };
  const auto order = convergence_of(doubled_sums(value_at, s.a, s.b, level), Real(s.b) - s.a, s.sample_unit);
  if (order) {
    const Real expected = std::fabs(order->factor) * std::pow(length / Real(s.strips), Real(order->exponent));
    const Real off = std::fabs(Real(s.value) - order->limit);
    out.exponent = order->exponent;
    out.why = fmt::format("the error of the trapezoid sum falls as h^{:.3g}", out.exponent);
    // The limit is extrapolated from few strips, so it counts only if the sum agrees with it.
    if (off <= 1.5L * expected + out.rounding)
      out.truncation = static_cast<double>(1.1L * std::max(expected, off - out.rounding));
  }
  if (!std::isfinite(out.truncation)) out.truncation = static_cast<double>(by_comparison(s, sum_of));
  out.reason = Reason::as_requested;
  if (tolerance == nullptr) return out;
  const bool near = out.error() <= tolerance->of(out.value);
  out.reason = near ? Reason::converged : Reason::unresolved;
  if (!near) out.why += (out.why.empty() ? "" : "; ") + std::string("the tolerance needs more strips");
  return out;
}

}  // namespace tessera::integration
