// SPDX-License-Identifier: Apache-2.0
// What a rule's answer is held against: the tanh-sinh sum in long double, with the formula's value in long
// double too, and half its points for the error. It shares no table and no choice with the rules.
#include <cmath>
#include <numbers>
#include "asked.hpp"
#include "bounded.hpp"
#include "checking.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/variable.hpp"
#include "tessera/core/error.hpp"

namespace tessera::integration {
namespace {

using Real = long double;

struct Sums {
  Real fine = 0, coarse = 0, sizes = 0;
};

// One piece between finite limits; x is told from its ends to long double's last bit.
void add(const formula::Program<double>& f, Real a, Real b, Sums& sums) {
  constexpr int steps = 64, reach = 4 * steps;
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

}  // namespace

Bounded rule_reference(const Asked& asked, Element element) {
  if (asked.variables.size() != 1 || !asked.box.axes[0].finite())
    throw Error(
        "only integrals over one finite range are checked: a rule's answer carries its own error and reason");
  const quadrature::Range given = asked.box.axes[0];
  const quadrature::Range range{std::fmin(given.lower, given.upper), std::fmax(given.lower, given.upper)};
  std::vector<double> points = asked.points;
  const quadrature::Features features = quadrature::features_of(asked.formula, asked.variables[0], range);
  points.insert(points.end(), features.breaks.begin(), features.breaks.end());
  const auto program = formula::compile<double>(asked.formula, asked.variables);
  Sums sums;
  for (const quadrature::Piece& piece : quadrature::cut(range, points))
    add(program, piece.lower, piece.upper, sums);
  const Real apart = std::fabs(sums.fine - sums.coarse),
             allowed = asked.tolerance.of(static_cast<double>(sums.fine));
  if (!(apart <= allowed))
    throw Error(
        "this integral is too hard for the check: the rule's answer carries its own error and reason");
  const Real u = element == Element::f32 ? 0x1p-24L : 0x1p-53L, scale = std::fabs(asked.scale);
  const Real sign = given.lower > given.upper ? -1 : 1;
  const Real bound =
      (apart + allowed + 64 * 0x1p-53L * sums.sizes + u * std::fabs(sums.fine)) * scale * 1.001L;
  return {sign * sums.fine * asked.scale, bound};
}

}  // namespace tessera::integration
