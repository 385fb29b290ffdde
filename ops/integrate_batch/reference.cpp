// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>
#include "integrate_batch.hpp"
#include "ops/integrate/verify/reference.hpp"

namespace tessera::integrate_batch {
namespace {

using integration::integral_between;
using integration::LongIntegral;
using Real = long double;
// Returns one integral's formula with its parameters replaced by numbers.
formula::Program<double> program_of(const BatchOptions& options, const Formula& with) {
  formula::Tree tree = options.formula;
  const auto names = options.names();
  for (std::size_t i = 0; i < names.size(); ++i)
    tree = formula::substitute(tree, names[i], with.inputs[1 + i]);
  return formula::compile_unfolded(tree, {options.variable});
}

LongIntegral by_other_rule(const Problem<double>& p, const BatchOptions& options, std::int64_t row) {
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
  LongIntegral out;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    if (cuts[i - 1] == cuts[i]) continue;
    const LongIntegral part =
        integral_between(program, cuts[i - 1], cuts[i], options.caution > 1 ? 512 : 16, 1 << 12);
    out.value += part.value;
    out.error += part.error;
  }
  if (a > b) out.value = -out.value;
  return out;
}

IntegralResult by_own_rule(const Problem<double>& p, std::int64_t row) {
  thread_local std::vector<double> memory;
  memory.resize(static_cast<std::size_t>(list_bytes(p.cells)) / sizeof(double) + 1);
  OwnCells cells = OwnCells::of(memory.data(), p.cells, 1, 0);
  Formula f = p.formula_of(p.integrand, row);
  Formula ends = p.ends_of(row);
  return integrate_alone(cells, p.work.nodes, tolerance_of_row(p.work, row), f, ends, p.work.breaks);
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
    const IntegralResult own = by_own_rule(p, row);
    if (own.why == non_finite) {
      expect(own.value, 0, Expected::not_a_number, out);
      continue;
    }
    const ErrorTolerance tolerance = tolerance_of_row(p.work, row);
    if (own.why == converged) {
      const LongIntegral other = by_other_rule(p, options, row);
      const Real allowed = tolerance.of(static_cast<double>(other.value));
      if (std::isfinite(allowed) && other.error <= 0.1L * allowed) {
        expect(static_cast<double>(other.value), static_cast<double>((allowed + other.error) * 1.001L),
               Expected::nothing, out);
        continue;
      }
    }
    // Not converged, or the other rule is no more accurate: all rungs must at least agree.
    expect(own.value, std::isfinite(own.error) ? own.error : 0, Expected::unproven, out);
  }
}

}  // namespace tessera::integrate_batch
