// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/drift.hpp"
#include <algorithm>
#include <cmath>
#include "ops/integrate/rules/answer.hpp"
#include "ops/integrate/rules/fading.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t order = 16;  // of the differences that take alternating terms away

// The mean of the terms around one, in which a smooth swing leaves nothing.
double mean_around(std::span<const double> terms, std::size_t middle) {
  double sum = 0, binomial = 1;
  for (std::size_t j = 0; j <= order; ++j) {
    sum += binomial * terms[middle - order / 2 + j];
    binomial *= static_cast<double>(order - j) / static_cast<double>(j + 1);
  }
  return std::fabs(std::ldexp(sum, -static_cast<int>(order)));
}

}  // namespace

double drift_behind(std::span<const double> terms) {
  constexpr double telling = 1e-6, most_by_chance = 8;
  const std::size_t count = terms.size();
  if (count < 2 * order) return infinity;
  const std::size_t first = order / 2, last = count - 1 - order / 2, middle = (first + last) / 2;
  const double b0 = mean_around(terms, first), b1 = mean_around(terms, middle), b2 = mean_around(terms, last);
  const double by_chance = most_by_chance * std::fmax(b1, b2) * static_cast<double>(count);
  if (!(b2 > telling * std::fabs(terms[last]))) return by_chance;
  // It fades as a power of the number of terms, or faster: how far the terms before the first ones lie back
  // need not be known for that.
  const double early = std::log(b0 / b1) / static_cast<double>(middle - first),
               late = std::log(b1 / b2) / static_cast<double>(last - middle);
  const double left = lasting_slope(early, late, static_cast<double>(last - first) / 2);
  return left > 0 ? 2 * b2 / left : infinity;
}

}  // namespace tessera::quadrature
