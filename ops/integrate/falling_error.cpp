// SPDX-License-Identifier: Apache-2.0
#include "falling_error.hpp"
#include <cmath>
#include <vector>
#include "bounded.hpp"

namespace tessera::integration {
namespace {

using Real = long double;
constexpr int first_level = 4, finest_level = 13;

// Of sums whose differences shrink by the same factor again and again; exponents are halves of whole numbers.
std::optional<Real> exponent_of(const std::vector<Real>& sums, Real unit) {
  const std::size_t n = sums.size();
  if (n < 3) return std::nullopt;
  const Real before = sums[n - 2] - sums[n - 3], last = sums[n - 1] - sums[n - 2];
  const Real noise = 64 * std::fabs(sums[n - 1]) * unit;
  if (!(std::fabs(last) > noise)) return std::nullopt;
  const Real found = std::log2(before / last), half = std::round(2 * found) / 2;
  return half > 0 && std::fabs(found - half) < 0.1L ? std::optional(half) : std::nullopt;
}

// Without the error that falls with this exponent.
std::vector<Real> without(const std::vector<Real>& sums, Real exponent) {
  const Real factor = std::exp2(exponent);
  std::vector<Real> out;
  for (std::size_t i = 1; i < sums.size(); ++i)
    out.push_back((factor * sums[i] - sums[i - 1]) / (factor - 1));
  return out;
}

}  // namespace

std::vector<Real> doubled_sums(const std::function<Real(Real)>& height, Real a, Real b, int finest) {
  std::vector<Real> out;
  Real total = (height(a) + height(b)) / 2;
  for (int level = 0; level <= finest; ++level) {
    const std::int64_t strips = std::int64_t{1} << level;
    Real between = 0;
    if (level > 0)
      for (std::int64_t i = 1; i < strips; i += 2) between += height(a + (b - a) * Real(i) / Real(strips));
    total += between;
    out.push_back(total * (b - a) / Real(strips));
  }
  return out;
}

std::optional<FallingError> falling_error(const std::vector<Real>& sums, Real length, Real unit) {
  if (sums.size() <= first_level) return std::nullopt;
  const std::vector<Real> all(sums.begin() + first_level, sums.end());
  const auto first = exponent_of(all, unit);
  if (!first) return std::nullopt;
  std::vector<Real> rest = all;
  for (auto exponent = first; exponent; exponent = exponent_of(rest, unit)) rest = without(rest, *exponent);
  const Real limit = rest.back(), width = length / Real(std::size_t{1} << (sums.size() - 1));
  // What is left at the finest width belongs to the first term, but for the terms that fall faster.
  std::vector<Real> factors;
  for (std::size_t i = 0; i < all.size(); ++i)
    factors.push_back(
        (all[i] - limit) /
        std::pow(std::fabs(width) * static_cast<Real>(std::size_t{1} << (all.size() - 1 - i)), *first));
  for (int term = 1; term <= 3; ++term) factors = without(factors, term);
  return FallingError{static_cast<double>(*first), static_cast<double>(factors.back()), limit};
}

std::optional<FallingError> falling_error(const Setting& setting) {
  const auto& program = program_of<double>(setting);
  const auto height = [&](Real x) { return bounded(program, {x, 0}).value; };
  return falling_error(doubled_sums(height, setting.a, setting.b, finest_level), Real(setting.b) - setting.a,
                       0x1p-64L);
}

}  // namespace tessera::integration
