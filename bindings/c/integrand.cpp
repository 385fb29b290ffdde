// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/handle.hpp"
#include "ops/integrate/integrate_rules.hpp"
#include "tessera/integrate.hpp"

namespace tessera::c {
namespace {

// The options are parsed with a formula in the callable's place.
integration::RuleOptions options_of(const Operation& operation, Arguments::Words words) {
  for (const char* const name : {"FORMULA", "random-seed"})
    if (words.contains(name)) throw Error(std::string("a callable and ") + name + " are given");
  for (const integration::VariableRange& range : integration::read_limits(words["LIMITS"]).ranges) {
    if (range.moving_from || range.moving_to) throw Error("limits of a callable must be numbers");
    words["FORMULA"] += (words["FORMULA"].empty() ? "" : "+") + range.variable;
  }
  const Arguments arguments(operation.signature, Element::f64, {}, words);
  if (!integration::asks_for_rule(arguments)) throw Error("strips are for formulas");
  return integration::rule_options_of(arguments);
}

}  // namespace

Outcome integrate_callable(const Operation& operation, const Arguments::Words& words,
                           const Callable& callable) {
  if (operation.name != "integrate") throw Error(operation.name + " takes no callable");
  const integration::RuleOptions given = options_of(operation, words);
  const integration::Options options{.relative = given.tolerance.relative,
                                     .absolute = given.tolerance.absolute,
                                     .most_evaluations = given.limits.evaluations,
                                     .most_seconds = given.limits.seconds,
                                     .rule = given.rule,
                                     .points = given.points,
                                     .threads = 1};
  using Values = std::span<double>;
  using Points = std::span<const double>;
  const std::size_t dimensions = given.box.axes.size();
  quadrature::Answer answer;
  if (given.one_variable()) {
    const quadrature::Integrand integrand{
        [&](Points x, Points, Values y) { callable(x.size(), 1, x.data(), y.data()); }};
    answer = integration::by_rule(integrand, given.box.axes[0], options);
  } else {
    const auto integrand = [&](Points points, std::size_t count, Values y) {
      callable(count, dimensions, points.data(), y.data());
    };
    answer = integration::by_rule(integrand, given.box, options);
  }
  Outcome out;
  Array& value = out.outputs[operation.output] = Array(Element::f64, {});
  *value.as<double>() = integration::rounded_value<double>(answer, given.scale);
  out.values = integration::values_of(answer, given.scale);
  return out;
}

}  // namespace tessera::c
