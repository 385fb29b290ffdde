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
#include "within_time.hpp"

namespace tessera::integration {
namespace {

// The integral of the same formula between the same limits, to no more digits than the sum could be asked
// for.
quadrature::Answer by_rule(const Arguments& arguments, const Summed& summed, double relative,
                           double seconds) {
  const Setting& setting = setting_of(arguments);
  const quadrature::Range range{summed.a, summed.b};
  const quadrature::Integrand f = quadrature::integrand_of(
      formula_with(setting.formula, setting.limits.fixed), setting.limits.ranges.at(0).variable, range);
  return quadrature::automatic(f, range, {.relative = std::fmax(1e-9, relative / 8)},
                               {.evaluations = 200'000, .seconds = seconds});
}

// How long it may take to tell of a sum that may take so long.
double seconds_to_tell(const Setting& setting) {
  constexpr double share = 0.2, least = 0.1;
  return setting.most_seconds ? share * *setting.most_seconds + least : quadrature::infinity;
}

// The sum stands; what was found of its error until the time was over is not all of it.
quadrature::Answer told_too_late(quadrature::Answer out) {
  out.truncation = quadrature::infinity;
  out.reason = quadrature::Reason::time;
  out.why += (out.why.empty() ? "" : "; ") + std::string("the time was over before its error was known");
  return out;
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
  const double seconds = seconds_to_tell(setting_of(arguments));
  const Clock clock(seconds);
  const Height height = [&](long double x) {
    return clock.over() ? Bounded{0, 0} : bounded(p.integrand, {x, 0}, root);
  };
  const Problem<double> in_double = Problem<double>::of(arguments);
  const SumOf sum_of = [&](std::int64_t strips) {
    Problem<double> q = in_double;
    q.set_range(summed.a, summed.b, strips);
    q.scale = 1;
    q.sum = Sum::double_float;
    q.accumulated = q.scale_terms = false;
    return static_cast<long double>(add_by_vectors(q, host_threads(), formula::Roots::ieee, clock));
  };
  const bool asked = !arguments.text("relative").empty() || !arguments.text("absolute").empty();
  quadrature::Tolerance tolerance = tolerance_of(arguments, true);
  if (arguments.text("relative").empty()) tolerance.relative = 0;
  quadrature::check(tolerance);
  const quadrature::Answer rule =
      by_rule(arguments, summed, asked ? tolerance.relative : 0, std::fmin(1, seconds / 2));
  const quadrature::Answer out = strips_answer(summed, height, sum_of, asked ? &tolerance : nullptr, &rule);
  return clock.over() ? told_too_late(out) : out;
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
