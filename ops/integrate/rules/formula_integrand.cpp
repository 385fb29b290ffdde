// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/formula_integrand.hpp"
#include <algorithm>
#include <memory>
#include "tessera/formula/distance.hpp"
#include "tessera/formula/evaluate.hpp"

namespace tessera::quadrature {
namespace {

using formula::Program;

// The formula, and as it is to be computed near each end.
struct Programs {
  Program<double> plain, lower, upper;
  bool lower_exact = false, upper_exact = false;
};

// Whether the last bit of x still matters although the distance is given: then rounding does.
bool needs_x(const Program<double>& program, double at, formula::End end, double length) {
  for (const double share : {1e-5, 1e-8, 1e-11, 1e-14}) {
    const double d = share * length, x = end == formula::End::lower ? at + d : at - d;
    const double apart[2] = {x, std::nextafter(x, x - (end == formula::End::lower ? -length : length))};
    const double distance[2] = {d, d};
    double y[2];
    const formula::Input<double> inputs[2] = {{apart}, {distance}};
    formula::evaluate_many<double>(program, inputs, 2, y);
    if (std::isfinite(y[0]) && !(std::fabs(y[1] - y[0]) <= 256 * unit * std::fabs(y[0]))) return true;
  }
  return false;
}

std::shared_ptr<Programs> compile(const formula::Tree& tree, const std::string& variable,
                                  const Range& range) {
  const auto out = std::make_shared<Programs>();
  out->plain = formula::compile<double>(tree, {variable});
  const std::vector<std::string> both{variable, std::string(formula::distance_name)};
  const auto near = [&](formula::End end, double at, Program<double>& program) {
    if (at == 0) return false;  // x is the distance
    const formula::AtEnd found = formula::with_distance(tree, variable, end, at);
    if (!found.exact) return false;
    program = formula::compile<double>(found.tree, both);
    return !needs_x(program, at, end,
                    std::isfinite(range.upper - range.lower) ? range.upper - range.lower : 1);
  };
  out->lower_exact = near(formula::End::lower, range.lower, out->lower);
  out->upper_exact = near(formula::End::upper, range.upper, out->upper);
  return out;
}

void evaluate(const Programs& programs, std::span<const double> x, std::span<const double> distance,
              std::span<double> y) {
  constexpr std::size_t chunk = 256;
  double away[chunk];
  for (std::size_t from = 0, to = 0; from < x.size(); from = to) {
    // Points that are seen from the same end.
    const bool above = distance[from] >= 0;
    while (to < x.size() && to - from < chunk && (distance[to] >= 0) == above) ++to;
    const std::size_t count = to - from;
    if (!(above ? programs.lower_exact : programs.upper_exact)) {
      const formula::Input<double> input{&x[from]};
      formula::evaluate_many<double>(programs.plain, {&input, 1}, count, &y[from]);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) away[i] = std::fabs(distance[from + i]);
    const formula::Input<double> inputs[2] = {{&x[from]}, {away}};
    formula::evaluate_many<double>(above ? programs.lower : programs.upper, inputs, count, &y[from]);
  }
}

}  // namespace

Integrand integrand_of(const formula::Tree& tree, const std::string& variable, const Range& range) {
  const auto programs = compile(tree, variable, range);
  Integrand out;
  if (tree.names().empty()) {
    const double anywhere = 0;
    const formula::Input<double> input{&anywhere};
    double value = 0;
    formula::evaluate_many<double>(programs->plain, {&input, 1}, 1, &value);
    out.constant = value;
  }
  if (!programs->lower_exact && !programs->upper_exact) {
    out.values = [programs](std::span<const double> x, std::span<const double>, std::span<double> y) {
      const formula::Input<double> input{x.data()};
      formula::evaluate_many<double>(programs->plain, {&input, 1}, x.size(), y.data());
    };
  } else {
    out.values = [programs](std::span<const double> x, std::span<const double> distance,
                            std::span<double> y) { evaluate(*programs, x, distance, y); };
  }
  out.knows[0] = programs->lower_exact;
  out.knows[1] = programs->upper_exact;
  out.features = [tree, variable](const Range& within) { return features_of(tree, variable, within); };
  return out;
}

ManyValues many_values_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  const auto program = std::make_shared<Program<double>>(formula::compile<double>(tree, variables));
  return [program](std::span<const double> points, std::size_t count, std::span<double> y) {
    formula::Input<double> inputs[formula::most_inputs];
    const std::size_t axes = points.size() / std::max<std::size_t>(count, 1);
    for (std::size_t axis = 0; axis < axes; ++axis) inputs[axis] = {&points[axis * count]};
    formula::evaluate_many<double>(*program, {inputs, axes}, count, y.data());
  };
}

}  // namespace tessera::quadrature
