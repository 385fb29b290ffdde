// SPDX-License-Identifier: Apache-2.0
#include "tessera/integrate.hpp"
#include <cmath>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "sum/trapezoid_error.hpp"
#include "tessera/core/device/device.hpp"

namespace tessera::integration {
namespace {

quadrature::Tolerance tolerance_of(const Options& options, const quadrature::Tolerance& usual) {
  return {options.relative.value_or(usual.relative), options.absolute};
}

quadrature::Limits limits_of(const Options& options, quadrature::Limits out) {
  out.evaluations = options.most_evaluations.value_or(out.evaluations);
  out.seconds = options.most_seconds.value_or(out.seconds);
  return out;
}

void check_rule(const Options& options) {
  if (options.sum != Sum::pairwise) throw Error("options.sum is for a trapezoid sum: set options.strips");
}

}  // namespace

quadrature::Answer by_rule(const quadrature::Integrand& f, const quadrature::Range& range,
                           const Options& options) {
  check_rule(options);
  return quadrature::by_name(options.rule, f, range, tolerance_of(options, {}), limits_of(options, {}),
                             options.points);
}

quadrature::Answer by_rule(const quadrature::BatchIntegrand& f, const quadrature::Box& box,
                           const Options& options) {
  check_rule(options);
  return quadrature::integrate_several(options.rule, f, box,
                                       tolerance_of(options, quadrature::usual_cubature_tolerance),
                                       limits_of(options, quadrature::usual_cubature_limits), options.points,
                                       options.threads > 0 ? options.threads : host_threads());
}

void check_trapezoid(double a, double b, const Options& options) {
  constexpr std::int64_t most = std::int64_t{1} << 50;
  if (options.strips < 1 || options.strips > most) throw Error("a sum needs from 1 to 2^50 strips");
  if (!std::isfinite(a) || !std::isfinite(b)) throw Error("a trapezoid sum takes finite limits");
  if (options.rule != "auto" && options.rule != "trapezoid")
    throw Error("options.strips asks for a trapezoid sum, not for the rule " + options.rule);
  if (options.most_evaluations && options.strips + 1 > *options.most_evaluations)
    throw Error("a sum of so many strips takes more than most_evaluations");
  if (options.most_seconds)
    throw Error("most_seconds is for rules: a trapezoid sum takes as long as its strips");
  if (!options.points.empty()) throw Error("options.points is for rules: a trapezoid sum cuts nowhere");
  quadrature::check({options.relative.value_or(0), options.absolute});
}

quadrature::Answer trapezoid_answer_of(double value, double a, double b, bool single, const Options& options,
                                       const std::function<double(double)>& sample,
                                       const std::function<double(std::int64_t)>& sum_of) {
  const double unit = single ? 0x1p-24 : 0x1p-53;
  const TrapezoidSum sum{.value = value,
                         .a = a,
                         .b = b,
                         .strips = options.strips,
                         .sum = options.sum,
                         .unit = unit,
                         .sample_unit = unit};
  // Assumes that the callable's value is rounded by one unit.
  const auto bounded_sample = [&](long double x) {
    const long double y = sample(static_cast<double>(x));
    return Bounded{y, std::fabs(y) * unit};
  };
  const quadrature::Tolerance tolerance{options.relative.value_or(0), options.absolute};
  const bool requested = options.relative || options.absolute > 0;
  return trapezoid_answer(sum, bounded_sample, sum_of, requested ? &tolerance : nullptr);
}

}  // namespace tessera::integration
