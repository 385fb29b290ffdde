// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>
#include "integrate_batch.hpp"
#include "ops/integrate/verify/bounded.hpp"

namespace tessera::integrate_batch {
namespace {

using Real = long double;
constexpr Real half_pi = std::numbers::pi_v<Real> / 2;

struct Sum {
  Real value = 0, sizes = 0;
};

struct Integral {
  Real value, error;
};

// x and dx/dt of the double exponential variable between two limits, one of which may be infinite.
struct Point {
  Real x, weight;
};

Point point(Real a, Real b, Real t) {
  const Real u = half_pi * std::sinh(t), slope = half_pi * std::cosh(t);
  if (std::isinf(a) || std::isinf(b)) {
    const Real away = std::exp(u);
    return {std::isinf(b) ? a + away : b - away, away * slope};
  }
  const Real e = std::exp(-2 * std::fabs(u)), distance = (b - a) * e / (1 + e);
  return {t < 0 ? a + distance : b - distance, (b - a) * 2 * slope * e / ((1 + e) * (1 + e))};
}

// How far t goes: far out to 1e2764, for what falls hardly faster than the inverse distance.
int reach_of(Real a, Real b) {
  if (std::isinf(b - a)) return 9;
  return b - a > 1e40L ? 7 : 5;
}

// The value at t, times dx/dt; none where x is that of an end, or where it is no number.
std::optional<Real> term_at(const formula::Program<double>& f, Real a, Real b, Real t) {
  const Point p = point(a, b, t);
  if (p.x == a || p.x == b || p.weight == 0) return {};
  const Real term = p.weight * integration::bounded(f, {p.x, 0}).value;
  if (!std::isfinite(term)) return {};
  return term;
}

// The points of one step that a coarser step has not had.
void add(const formula::Program<double>& f, Real a, Real b, int steps, bool odd_only, Sum& sum) {
  const int reach = reach_of(a, b) * steps;
  for (int j = -reach; j <= reach; ++j) {
    if (odd_only && j % 2 == 0) continue;
    const Real term = term_at(f, a, b, Real(j) / Real(steps)).value_or(0);
    sum.value += term;
    sum.sizes += std::fabs(term);
  }
}

// What lies behind the outermost points that count. Terms fall there faster than a geometric series.
Real behind(const formula::Program<double>& f, Real a, Real b, int steps) {
  Real out = 0;
  const int reach = reach_of(a, b) * steps;
  for (const int side : {-1, 1}) {
    const auto size = [&](int j) {
      const auto term = term_at(f, a, b, Real(side * j) / Real(steps));
      return term ? std::fabs(*term) : Real(-1);
    };
    int j = reach;
    while (j > 0 && size(j) < 0) --j;
    const Real last = size(j), before = size(j - 1);
    if (last > 0) out += last < before ? last / (before / last - 1) / Real(steps) : INFINITY;
  }
  return out;
}

// Steps are halved until nothing moves; the last move is the error. Points lie as a mirror's images do: of
// what jumps at many places pairs of them may miss every place where a sum of two is another, so few steps
// prove nothing there.
Integral between(const formula::Program<double>& f, Real a, Real b, int fewest_steps) {
  Sum sum;
  int steps = 8;
  add(f, a, b, steps, false, sum);
  Real before = sum.value / Real(steps), error = INFINITY;
  while (steps < 2048) {
    steps *= 2;
    add(f, a, b, steps, true, sum);
    const Real now = sum.value / Real(steps);
    error = std::fabs(now - before) + 64 * 0x1p-64L * sum.sizes / Real(steps);
    before = now;
    if (steps >= fewest_steps && error <= 1e-15L * sum.sizes / Real(steps)) break;
  }
  // What has seen nothing but zeros knows nothing.
  if (sum.sizes == 0) error = INFINITY;
  return {before, error + behind(f, a, b, steps)};
}

// One integral's formula, its parameters now numbers.
formula::Program<double> program_of(const BatchOptions& options, const Formula& with) {
  formula::Tree tree = options.formula;
  const auto names = options.names();
  for (std::size_t i = 0; i < names.size(); ++i)
    tree = formula::substitute(tree, names[i], with.inputs[1 + i]);
  return formula::compile<double>(tree, {options.variable});
}

Integral by_other_rule(const Problem<double>& p, const BatchOptions& options, std::int64_t row) {
  Formula ends = p.ends_of(row);
  const auto program = program_of(options, ends);
  const Real a = ends(0), b = ends(1);
  std::vector<Real> cuts;
  for (int k = 0; k < p.work.breaks; ++k) cuts.push_back(ends(2 + k));
  if (std::isinf(a) && std::isinf(b)) cuts.push_back(0);
  std::erase_if(cuts, [&](Real x) { return !(x > std::min(a, b) && x < std::max(a, b)); });
  cuts.push_back(a);
  cuts.push_back(b);
  std::ranges::sort(cuts);
  Integral out{0, 0};
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    if (cuts[i - 1] == cuts[i]) continue;
    const Integral part = between(program, cuts[i - 1], cuts[i], options.caution > 1 ? 512 : 16);
    out.value += part.value;
    out.error += part.error;
  }
  if (a > b) out.value = -out.value;
  return out;
}

Ended by_own_rule(const Problem<double>& p, std::int64_t row) {
  thread_local std::vector<double> memory;
  memory.resize(static_cast<std::size_t>(list_bytes(p.cells)) / sizeof(double) + 1);
  OwnCells cells = OwnCells::of(memory.data(), p.cells, 1, 0);
  Formula f = p.formula_of(p.integrand, row);
  Formula ends = p.ends_of(row);
  return integrate_alone(cells, p.work.nodes, demand_of(p.work, row), f, ends, p.work.breaks);
}

void expect(double value, double bound, std::uint8_t beyond, Expected& out) {
  out.value.push_back(value);
  out.bound.push_back(bound);
  out.beyond.push_back(beyond);
}

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& out) {
  const auto p = Problem<double>::of(arguments);
  const BatchOptions& options = batch_options_of(arguments);
  for (const std::int64_t row : rows) {
    const Ended own = by_own_rule(p, row);
    if (own.why == non_finite) {
      expect(own.value, 0, Expected::not_a_number, out);
      continue;
    }
    const Demand demand = demand_of(p.work, row);
    if (own.why == converged) {
      const Integral other = by_other_rule(p, options, row);
      const Real allowed = demand.of(static_cast<double>(other.value));
      if (std::isfinite(allowed) && other.error <= 0.1L * allowed) {
        expect(static_cast<double>(other.value), static_cast<double>((allowed + other.error) * 1.001L),
               Expected::nothing, out);
        continue;
      }
    }
    // Nothing is claimed, or the other rule knows no more: everybody must at least say the same.
    expect(own.value, std::isfinite(own.error) ? own.error : 0, Expected::unproven, out);
  }
}

}  // namespace tessera::integrate_batch
