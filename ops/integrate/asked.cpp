// SPDX-License-Identifier: Apache-2.0
#include "asked.hpp"
#include <algorithm>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/cubature.hpp"
#include "ops/integrate/rules/double_exponential.hpp"
#include "ops/integrate/rules/equidistant.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "ops/integrate/rules/gauss_kronrod.hpp"
#include "ops/integrate/rules/genz_malik.hpp"
#include "ops/integrate/rules/product.hpp"
#include "ops/integrate/rules/quasi_random.hpp"
#include "tessera/core/error.hpp"

namespace tessera::integration {
namespace {

using quadrature::Answer;

// A number as a formula without variables; `otherwise` where nothing was written.
double number_or(const Arguments& arguments, const std::string& name, double otherwise) {
  const std::string& text = arguments.text(name);
  return text.empty() ? otherwise : number_of(text, "--" + name);
}

std::int64_t count_or(const Arguments& arguments, const std::string& name, std::int64_t otherwise) {
  const double value = number_or(arguments, name, static_cast<double>(otherwise));
  if (!(value >= 1 && value <= 1e18))
    throw Error("--" + name + " needs a number from 1 on, not " + arguments.text(name));
  return static_cast<std::int64_t>(value);
}

std::vector<double> points_of(const std::string& text) {
  std::vector<double> out;
  if (text.empty()) return out;
  for (const std::string& part : parts_of(text)) out.push_back(number_of(part, "--points"));
  return out;
}

quadrature::Range upwards(quadrature::Range range) {
  if (range.lower > range.upper) std::swap(range.lower, range.upper);
  return range;
}

// One variable, by one rule; its error is the rule's own, checked by nobody.
Answer one_rule(const Asked& asked, const quadrature::Integrand& f, const quadrature::Range& range) {
  if (asked.rule == "tanh_sinh")
    return quadrature::tanh_sinh(f, range, asked.tolerance, asked.limits, asked.points);
  if (asked.rule == "gauss_kronrod")
    return quadrature::gauss_kronrod(f, range, asked.tolerance, asked.limits, {}, asked.points);
  if (!asked.points.empty()) throw Error("--rule " + asked.rule + " takes no --points");
  if (asked.rule == "richardson") return quadrature::trapezoid(f, range, asked.tolerance, asked.limits);
  if (asked.rule == "simpson") return quadrature::simpson(f, range, asked.tolerance, asked.limits);
  throw Error("--rule " + asked.rule + " is for several variables");
}

Answer of_one(const Asked& asked) {
  const quadrature::Range given = asked.box.axes[0], range = upwards(given);
  quadrature::check(given, asked.tolerance, asked.limits);
  const quadrature::Integrand f = quadrature::integrand_of(asked.formula, asked.variables[0], range);
  if (asked.rule == "auto")
    return quadrature::automatic(f, given, asked.tolerance, asked.limits, asked.points);
  if (range.lower == range.upper) return quadrature::automatic(f, given, asked.tolerance, asked.limits);
  Answer out = one_rule(asked, f, range);
  if (given.lower > given.upper) out.value = -out.value;
  out.why = "asked for; no other rule checks it";
  return out;
}

Answer of_several(const Asked& asked, int threads) {
  if (!asked.points.empty()) throw Error("--points are for one variable");
  const quadrature::ManyValues f = quadrature::many_values_of(asked.formula, asked.variables);
  if (asked.rule == "auto")
    return quadrature::automatic_cubature(f, asked.box, asked.tolerance, asked.limits, threads);
  quadrature::Box box = asked.box;
  double sign = 1;
  std::vector<quadrature::Axis> axes;
  for (const quadrature::Range& range : box.axes) {
    quadrature::check(range, asked.tolerance, asked.limits);
    if (range.lower > range.upper) sign = -sign;
    axes.push_back(quadrature::Axis::of(upwards(range)));
  }
  quadrature::Cube cube(f, axes, asked.limits);
  Answer out;
  if (asked.rule == "genz_malik") out = quadrature::genz_malik(cube, asked.tolerance, threads);
  else if (asked.rule == "quasi_random")
    out = quadrature::quasi_random(cube, asked.tolerance, {.threads = threads});
  else if (asked.rule == "tanh_sinh") out = quadrature::product_rule(cube, asked.tolerance, threads);
  else throw Error("--rule " + asked.rule + " is for one variable");
  out.value *= sign;
  out.why = "asked for; no other rule checks it";
  return out;
}

}  // namespace

bool asks_for_rule(const Arguments& arguments) {
  if (has_samples(arguments)) return true;
  const std::string& rule = arguments.text("rule");
  return rule == "auto" ? arguments.text("strips").empty() : rule != "trapezoid";
}

quadrature::Tolerance tolerance_of(const Arguments& arguments, bool one_variable) {
  quadrature::Tolerance out = one_variable ? quadrature::Tolerance{} : quadrature::usual_cubature_tolerance;
  out.absolute = number_or(arguments, "absolute", out.absolute);
  // It is the scaled integral's.
  if (const double scale = arguments.real("scale"); scale != 0) out.absolute /= std::fabs(scale);
  out.relative = number_or(arguments, "relative", out.relative);
  return out;
}

Asked asked_of(const Arguments& arguments) {
  Asked out;
  const Limits limits = read_limits(arguments.text("LIMITS"));
  out.rule = arguments.text("rule");
  out.formula = formula::parse(arguments.text("FORMULA"));
  for (const Fixed& fixed : limits.fixed)
    out.formula = formula::substitute(out.formula, fixed.name, fixed.value);
  for (const Range1& range : limits.ranges) {
    out.variables.push_back(range.variable);
    out.box.axes.push_back({range.from, range.to});
  }
  const bool one = out.variables.size() == 1;
  out.limits = one ? quadrature::Limits{} : quadrature::usual_cubature_limits;
  out.scale = arguments.real("scale");
  out.tolerance = tolerance_of(arguments, one);
  out.limits.evaluations = count_or(arguments, "most-evaluations", out.limits.evaluations);
  out.limits.seconds = number_or(arguments, "most-seconds", out.limits.seconds);
  out.points = points_of(arguments.text("points"));
  return out;
}

Answer answer_to(const Asked& asked, int threads) {
  return asked.variables.size() == 1 ? of_one(asked) : of_several(asked, threads);
}

Values told_of(const Answer& answer, double scale) {
  const double factor = std::fabs(scale);
  Values out;
  out["error"] = answer.error() * factor;
  out["truncation"] = answer.truncation * factor;
  out["rounding"] = answer.rounding * factor;
  out["condition"] = answer.condition();
  out["evaluations"] = answer.evaluations;
  out["reason"] = quadrature::words(answer);
  out["by"] = std::string(answer.rule);
  if (!answer.why.empty()) out["why"] = answer.why;
  if (!std::isnan(answer.exponent)) out["exponent"] = answer.exponent;
  return out;
}

}  // namespace tessera::integration
