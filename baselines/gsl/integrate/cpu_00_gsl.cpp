// SPDX-License-Identifier: Apache-2.0
// CPU baseline: the GNU Scientific Library's adaptive rules, on one core.
//
// QAGS (QAGP with known breaks) between two limits, QAGIU, QAGIL and QAGI without; QAG's 21 points as
// gauss_kronrod. It adds no trapezoid sum. Its error is the plain estimate of its rule, checked by nobody,
// and a tolerance is met where that is.
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include "ops/integrate/integrate_rules.hpp"
#include "tessera/formula/interpret.hpp"
#include "tessera/baseline.hpp"

namespace tessera::integration {
namespace {

constexpr std::size_t max_intervals = 2000;

struct Called {
  formula::Program<double> program;
  std::int64_t calls = 0;
};

double value_at(double x, void* context) {
  Called& called = *static_cast<Called*>(context);
  ++called.calls;
  return formula::evaluate<double>(called.program, std::span<const double>(&x, 1));
}

struct Result {
  double value = 0, error = 0;
  int status = 0;
  const char* rule = "";
};

Result integrate_between(const RuleOptions& options, gsl_function& f, double a, double b,
                         gsl_integration_workspace* space) {
  Result r;
  const double absolute = options.tolerance.absolute, relative = options.tolerance.relative;
  const bool below = std::isinf(a), above = std::isinf(b);
  if (below && above) {
    r.rule = "qagi";
    r.status = gsl_integration_qagi(&f, absolute, relative, max_intervals, space, &r.value, &r.error);
  } else if (below) {
    r.rule = "qagil";
    r.status = gsl_integration_qagil(&f, b, absolute, relative, max_intervals, space, &r.value, &r.error);
  } else if (above) {
    r.rule = "qagiu";
    r.status = gsl_integration_qagiu(&f, a, absolute, relative, max_intervals, space, &r.value, &r.error);
  } else if (options.rule == "gauss_kronrod") {
    r.rule = "qag";
    r.status = gsl_integration_qag(&f, a, b, absolute, relative, max_intervals, GSL_INTEG_GAUSS21, space,
                                   &r.value, &r.error);
  } else if (!options.points.empty()) {
    std::vector<double> points = options.points;
    points.push_back(a);
    points.push_back(b);
    std::sort(points.begin(), points.end());
    r.rule = "qagp";
    r.status = gsl_integration_qagp(&f, points.data(), points.size(), absolute, relative, max_intervals,
                                    space, &r.value, &r.error);
  } else {
    r.rule = "qags";
    r.status = gsl_integration_qags(&f, a, b, absolute, relative, max_intervals, space, &r.value, &r.error);
  }
  return r;
}

quadrature::Reason reason_of(int status) {
  switch (status) {
    case GSL_SUCCESS:
      return quadrature::Reason::converged;
    case GSL_EROUND:
      return quadrature::Reason::roundoff;
    case GSL_ESING:
      return quadrature::Reason::singular;
    case GSL_EDIVERGE:
      return quadrature::Reason::diverges;
    case GSL_EMAXITER:
      return quadrature::Reason::memory;
    default:
      return quadrature::Reason::unresolved;
  }
}

template <class T>
void integrate_by_gsl(const Arguments& arguments, const Tuning&, Run& run) {
  gsl_set_error_handler_off();  // it would end the process
  const RuleOptions options = rule_options_of(arguments);
  Called called{formula::compile<double>(options.formula, options.variables)};
  gsl_function f{value_at, &called};
  const std::unique_ptr<gsl_integration_workspace, void (*)(gsl_integration_workspace*)> space(
      gsl_integration_workspace_alloc(max_intervals), gsl_integration_workspace_free);
  if (!space) throw Error("GSL has no memory for its intervals");
  const quadrature::Range range = options.box.axes[0];
  const bool turned = range.lower > range.upper;
  const Result r = integrate_between(options, f, turned ? range.upper : range.lower,
                                     turned ? range.lower : range.upper, space.get());
  quadrature::Answer answer;
  answer.value = turned ? -r.value : r.value;
  answer.truncation = r.error;
  answer.magnitude = std::fabs(r.value);
  answer.evaluations = called.calls;
  answer.reason = reason_of(r.status);
  answer.rule = r.rule;
  answer.why = std::string("GSL: ") + gsl_strerror(r.status);
  *static_cast<T*>(arguments.array("integral").data) = static_cast<T>(answer.value * options.scale);
  run.values = values_of(answer, options.scale);
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  if (!asks_for_rule(arguments) || has_samples(arguments))
    return "GSL has rules, and no sum of strips: leave --strips out";
  const RuleOptions options = rule_options_of(arguments);
  if (options.variables.size() != 1) return "GSL's rules are for one variable";
  if (options.rule != "auto" && options.rule != "gauss_kronrod") return "GSL has no rule " + options.rule;
  return std::nullopt;
}

Choice by_gsl() {
  Choice choice;
  choice.prepare[Element::f64] = without_plan(integrate_by_gsl<double>);
  choice.prepare[Element::f32] = without_plan(integrate_by_gsl<float>);
  choice.refuses = refuses;
  return choice;
}

const Rung rung(timed_baseline("the GNU Scientific Library's QAGS and its kin, one core", Where::cpu,
                               {by_gsl()}));

}  // namespace
}  // namespace tessera::integration
