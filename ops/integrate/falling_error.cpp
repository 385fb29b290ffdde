// SPDX-License-Identifier: Apache-2.0
#include "falling_error.hpp"
#include <cmath>
#include <vector>
#include "bounded.hpp"

namespace tessera::integration {
namespace {

using Real = long double;
constexpr int first_level = 4, levels = 10;

// Each sum has the abscissae of the one before, and those between them.
std::vector<Real> sums_of(const Setting& setting) {
  const auto& program = program_of<double>(setting);
  const Real a = setting.a, length = Real(setting.b) - a;
  const auto height = [&](Real share) { return bounded(program, {a + length * share, 0}).value; };
  std::vector<Real> out;
  Real total = (height(0) + height(1)) / 2;
  for (int level = 0; level < first_level + levels; ++level) {
    const std::int64_t strips = std::int64_t{1} << level;
    Real between = 0;
    if (level > 0)
      for (std::int64_t i = 1; i < strips; i += 2) between += height(Real(i) / Real(strips));
    total += between;
    if (level >= first_level) out.push_back(total * length / Real(strips));
  }
  return out;
}

// Of sums whose differences shrink by the same factor again and again; exponents are halves of whole numbers.
std::optional<Real> exponent_of(const std::vector<Real>& sums) {
  const std::size_t n = sums.size();
  if (n < 3) return std::nullopt;
  const Real before = sums[n - 2] - sums[n - 3], last = sums[n - 1] - sums[n - 2];
  const Real noise = 64 * std::fabs(sums[n - 1]) * 0x1p-64L;
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

std::optional<FallingError> falling_error(const Setting& setting) {
  const std::vector<Real> all = sums_of(setting);
  const auto first = exponent_of(all);
  if (!first) return std::nullopt;
  std::vector<Real> sums = all;
  for (auto exponent = first; exponent; exponent = exponent_of(sums)) sums = without(sums, *exponent);
  const Real limit = sums.back(),
             width = (Real(setting.b) - setting.a) / Real(1 << (first_level + levels - 1));
  // What is left at the finest width belongs to the first term, but for the terms that fall faster.
  std::vector<Real> factors;
  for (std::size_t i = 0; i < all.size(); ++i)
    factors.push_back(
        (all[i] - limit) /
        std::pow(std::fabs(width) * static_cast<Real>(std::size_t{1} << (all.size() - 1 - i)), *first));
  for (int term = 1; term <= 3; ++term) factors = without(factors, term);
  return FallingError{static_cast<double>(*first), static_cast<double>(factors.back()), limit};
}

}  // namespace tessera::integration
