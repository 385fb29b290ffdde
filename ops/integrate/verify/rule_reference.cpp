// SPDX-License-Identifier: Apache-2.0
// What a rule's answer is held against: the tanh-sinh sum in long double, with the formula's value in long
// double too, and half its points for the error. Two and three variables: Gauss and Legendre's points on each
// axis, and fewer of them for the error. It shares no table and no choice with the rules, but cuts at the
// same breakpoints.
#include "reference.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include "ops/integrate/quadrature/breakpoints.hpp"
#include "tessera/core/error.hpp"

namespace tessera::integration {
namespace {

using Real = long double;

struct Sums {
  Real fine = 0, coarse = 0, sizes = 0;
};

// One piece between finite limits; x is told from its ends to long double's last bit.
void add(const formula::Program<double>& f, Real a, Real b, Sums& sums) {
  constexpr int steps = 256, reach = 4 * steps;
  constexpr Real half_pi = std::numbers::pi_v<Real> / 2, step = Real(1) / steps;
  for (int j = -reach; j <= reach; ++j) {
    const Real t = std::fabs(j * step), e = std::exp(-2 * half_pi * std::sinh(t));
    const Real distance = (b - a) * e / (1 + e), x = j < 0 ? a + distance : b - distance;
    const Real weight = (b - a) * 2 * half_pi * std::cosh(t) * e / ((1 + e) * (1 + e));
    const Real term = step * weight * bounded(f, {x, 0}).value;
    if (x == a || x == b || !std::isfinite(term)) continue;
    sums.fine += term;
    sums.sizes += std::fabs(term);
    if (j % 2 == 0) sums.coarse += 2 * term;
  }
}

// From a finite limit on, outwards: distances are e^(π/2·sinh t).
void add_outwards(const formula::Program<double>& f, Real from, int direction, Sums& sums) {
  constexpr int steps = 256, reach = 11 * steps / 2;
  constexpr Real half_pi = std::numbers::pi_v<Real> / 2, step = Real(1) / steps;
  for (int j = -reach; j <= reach; ++j) {
    const Real t = j * step, distance = std::exp(half_pi * std::sinh(t));
    const Real x = from + direction * distance, weight = half_pi * std::cosh(t) * distance;
    const Real term = step * weight * bounded(f, {x, 0}).value;
    if (x == from || !std::isfinite(term)) continue;
    sums.fine += term;
    sums.sizes += std::fabs(term);
    if (j % 2 == 0) sums.coarse += 2 * term;
  }
}

void add_part(const formula::Program<double>& f, const quadrature::Range& part, Sums& sums) {
  const bool below = std::isinf(part.lower), above = std::isinf(part.upper);
  if (!below && !above) return add(f, part.lower, part.upper, sums);
  const Real middle = below && above ? 0 : below ? part.upper : part.lower;
  if (below) add_outwards(f, middle, -1, sums);
  if (above) add_outwards(f, middle, 1, sums);
}

// Points in (-1, 1) and weights, by Newton's steps from where the zeros are about.
std::vector<std::pair<Real, Real>> gauss_legendre(int count) {
  std::vector<std::pair<Real, Real>> out;
  for (int i = 0; i < count; ++i) {
    Real x = std::cos(std::numbers::pi_v<Real> * (i + 0.75L) / (count + 0.5L)), slope = 0;
    for (int step = 0; step < 20; ++step) {
      Real before = 1, value = x;
      for (int k = 2; k <= count; ++k) {
        const Real next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = count * (x * value - before) / (x * x - 1);
      x -= value / slope;
    }
    out.emplace_back(x, 2 / ((1 - x * x) * slope * slope));
  }
  return out;
}

void add_product(const formula::Program<double>& f, const quadrature::Box& box, int count, Real& sum,
                 Real& sizes) {
  const auto points = gauss_legendre(count);
  const auto axes = static_cast<std::size_t>(box.dimensions());
  std::vector<std::size_t> at(axes);
  std::vector<Bounded> x(axes);
  for (std::size_t axis = 0; axis < axes;) {
    Real weight = 1;
    for (std::size_t k = 0; k < axes; ++k) {
      const Real half = (Real(box.axes[k].upper) - box.axes[k].lower) / 2;
      x[k].value = box.axes[k].lower + half * (1 + points[at[k]].first);
      weight *= half * points[at[k]].second;
    }
    const Real term = weight * bounded(f, std::span<const Bounded>(x)).value;
    sum += term;
    sizes += std::fabs(term);
    for (axis = 0; axis < axes && ++at[axis] == points.size(); ++axis) at[axis] = 0;
  }
}

Error too_hard() {
  return Error("this integral is too hard for the check: the rule's answer carries its own error and reason");
}

Bounded bounded_by(const RuleOptions& options, Element element, Real value, Real apart, Real sizes) {
  const Real allowed = options.tolerance.of(static_cast<double>(value));
  if (!(apart <= allowed)) throw too_hard();
  const Real u = element == Element::f32 ? 0x1p-24L : 0x1p-53L, scale = std::fabs(options.scale);
  const Real bound = (apart + allowed + 64 * u * sizes + u * std::fabs(value)) * scale * 1.001L;
  return {value * options.scale, bound};
}

Bounded product_reference(const RuleOptions& options, Element element) {
  const auto program = formula::compile<double>(options.formula, options.variables);
  Real fine = 0, sizes = 0, apart = 0;
  add_product(program, options.box, 40, fine, sizes);
  // At kinks and jumps along oblique lines two of them agree by chance.
  for (const int count : {39, 36, 31, 28}) {
    Real coarse = 0, unused = 0;
    add_product(program, options.box, count, coarse, unused);
    apart = std::max(apart, 2 * std::fabs(fine - coarse));
  }
  return bounded_by(options, element, fine, apart, sizes);
}

// The parts between the limits, the known breaks and the formula's.
std::vector<quadrature::Range> parts_of(const RuleOptions& options, const quadrature::Range& range) {
  std::vector<double> cuts = options.points;
  for (const double x : quadrature::breakpoints(options.formula, options.variables[0], range))
    cuts.push_back(x);
  std::sort(cuts.begin(), cuts.end());
  std::vector<quadrature::Range> out;
  double from = range.lower;
  for (const double x : cuts) {
    if (!(from < x && x < range.upper) || x - from <= 1024 * quadrature::unit * std::fabs(x)) continue;
    out.push_back({from, x});
    from = x;
  }
  out.push_back({from, range.upper});
  return out;
}

}  // namespace

Bounded rule_reference(const RuleOptions& options, Element element) {
  const bool finite = std::all_of(options.box.axes.begin(), options.box.axes.end(),
                                  [](const quadrature::Range& range) { return range.finite(); });
  if (options.variables.size() > 3 || (options.variables.size() > 1 && !finite))
    throw Error(
        "of several variables, only integrals of two or three over finite ranges are checked: a rule's "
        "answer carries its "
        "own error and reason");
  if (options.variables.size() > 1) return product_reference(options, element);
  const quadrature::Range given = options.box.axes[0];
  const quadrature::Range range{std::fmin(given.lower, given.upper), std::fmax(given.lower, given.upper)};
  const auto program = formula::compile<double>(options.formula, options.variables);
  Sums sums;
  for (const quadrature::Range& part : parts_of(options, range)) add_part(program, part, sums);
  if (sums.sizes == 0) throw too_hard();
  const Real sign = given.lower > given.upper ? -1 : 1;
  return bounded_by(options, element, sign * sums.fine, std::fabs(sums.fine - sums.coarse), sums.sizes);
}

}  // namespace tessera::integration
