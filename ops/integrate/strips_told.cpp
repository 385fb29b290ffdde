// SPDX-License-Identifier: Apache-2.0
#include "strips_told.hpp"
#include <cmath>
#include <fmt/format.h>
#include "asked.hpp"
#include "bounded.hpp"
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "strips_answer.hpp"
#include "vector_strips.hpp"

namespace tessera::integration {
namespace {

// The integral of the same formula between the same limits, to no more digits than the sum could be asked
// for.
quadrature::Answer by_rule(const Arguments& arguments, const Summed& summed, double relative) {
  const Setting& setting = setting_of(arguments);
  const quadrature::Range range{summed.a, summed.b};
  const quadrature::Integrand f = quadrature::integrand_of(
      formula_with(setting.formula, setting.limits.fixed), setting.limits.ranges.at(0).variable, range);
  return quadrature::automatic(f, range, {.relative = std::fmax(1e-9, relative / 8)},
                               {.evaluations = 200'000, .seconds = 1});
}

template <class T>
quadrature::Answer answer_of(const Arguments& arguments) {
  const Problem<T> p = Problem<T>::of(arguments);
  const double scale = static_cast<double>(p.scale);
  Summed summed{.value = static_cast<double>(*p.result) / scale,
                .a = static_cast<double>(p.a),
                .b = static_cast<double>(p.b),
                .strips = p.strips,
                .sum = p.sum,
                .accumulated = p.accumulated,
                .unit = std::numeric_limits<T>::epsilon() / 2};
  const int root = arguments.text("roots") == "fast" ? 10 : 1;
  const Height height = [&](long double x) { return bounded(p.integrand, {x, 0}, root); };
  const Problem<double> in_double = Problem<double>::of(arguments);
  const SumOf sum_of = [&](std::int64_t strips) {
    Problem<double> q = in_double;
    q.set_range(summed.a, summed.b, strips);
    q.scale = 1;
    q.sum = Sum::double_float;
    q.accumulated = q.scale_terms = false;
    return static_cast<long double>(add_by_vectors(q, host_threads(), formula::Roots::ieee));
  };
  const bool asked = !arguments.text("relative").empty() || !arguments.text("absolute").empty();
  quadrature::Tolerance tolerance = tolerance_of(arguments, true);
  if (arguments.text("relative").empty()) tolerance.relative = 0;
  quadrature::check(tolerance);
  const quadrature::Answer rule = by_rule(arguments, summed, asked ? tolerance.relative : 0);
  return strips_answer(summed, height, sum_of, asked ? &tolerance : nullptr, &rule);
}

}  // namespace

Values told_of_strips(const Arguments& arguments) {
  const double scale = arguments.real("scale");
  if (scale == 0) return {{"evaluations", setting_of(arguments).strips + 1}};  // nothing is left to be wrong
  const quadrature::Answer answer =
      arguments.element() == Element::f32 ? answer_of<float>(arguments) : answer_of<double>(arguments);
  Values out = told_of(answer, scale);
  if (answer.reason == quadrature::Reason::as_asked && arguments.text("strips").empty())
    out["reason"] = fmt::format("as asked: the trapezoid sum; no --strips were named, so {}",
                                setting_of(arguments).strips);
  return out;
}

}  // namespace tessera::integration
