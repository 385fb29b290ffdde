// SPDX-License-Identifier: Apache-2.0
#include "integrate_rules.hpp"
#include <fmt/format.h>
#include <atomic>
#include <memory>
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/one_variable/equidistant.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "ops/integrate/quadrature/several_variables/separable_product.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/formula/evaluate.hpp"

namespace tessera::integration {
namespace {

using quadrature::Answer;

// Below this relative tolerance rules would resolve the steps between the numbers of f32.
constexpr double min_single = 2e-6;

// Returns f, which throws OutOfBudget after so many points.
quadrature::BatchIntegrand within_budget(std::int64_t budget, const quadrature::BatchIntegrand& f) {
  return [f, left = std::make_shared<std::atomic<std::int64_t>>(budget)](
             std::span<const double> points, std::size_t count, std::span<double> y) {
    const auto wanted = static_cast<std::int64_t>(count);
    if (left->fetch_sub(wanted, std::memory_order_relaxed) < wanted) throw OutOfBudget{};
    f(points, count, y);
  };
}

Answer over_box(const RuleOptions& options, const quadrature::Tolerance& tolerance, int threads,
                const quadrature::ByRegions& by_regions, const quadrature::VegasEngineFor& engine,
                std::optional<std::int64_t> budget) {
  if (!options.points.empty()) throw Error("--points is for one variable");
  const quadrature::BatchIntegrand f =
      options.element == Element::f32 ? quadrature::many_single_values_of(options.formula, options.variables)
                                      : quadrature::batch_integrand_of(options.formula, options.variables);
  quadrature::Box box = options.box;
  for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
    const quadrature::Range& range = box.axes[axis];
    box.breaks.push_back(quadrature::breakpoints(
        options.formula, options.variables[axis],
        {std::fmin(range.lower, range.upper), std::fmax(range.lower, range.upper), range.rounding}));
  }
  quadrature::Limits limits = options.limits;
  const bool empty = std::ranges::any_of(
      box.axes, [](const quadrature::Range& range) { return range.lower == range.upper; });
  if (options.rule == "auto" && options.element == Element::f64 && !by_regions.rule && !empty)
    if (std::optional<Answer> out = quadrature::integrate_separately(options.formula, options.variables, box,
                                                                     tolerance, limits, threads)) {
      out->names = options.variables;
      return *out;
    }
  Answer out =
      quadrature::integrate_several(options.rule, budget ? within_budget(*budget, f) : f, box, tolerance,
                                    limits, options.points, threads, options.seed, by_regions, engine);
  out.evaluations += options.limits.evaluations - limits.evaluations;
  out.names = options.variables;
  return out;
}

}  // namespace

std::optional<std::int64_t> work_budget_of(const RuleOptions& options, const Run& run) {
  constexpr double fewest_seconds = 2;  // below it, the time spent on the CPU would matter
  if (options.one_variable() || options.limits.seconds < fewest_seconds || !std::isfinite(run.work_budget))
    return std::nullopt;
  const auto steps = formula::compile<double>(options.formula, options.variables).step_count;
  return static_cast<std::int64_t>(run.work_budget / (1 + steps));
}

void take_over(RuleOptions& options, const Run& run) {
  if (run.elapsed_seconds <= 0) return;
  options.limits.seconds =
      std::fmax(options.limits.seconds - run.elapsed_seconds, 0.01 * options.limits.seconds);
}

void add_fallback_note(Answer& answer, const Run& run) {
  if (run.elapsed_seconds <= 0) return;
  answer.why += fmt::format("{}the processors were stopped after {:.2g} s, when a GPU was ready",
                            answer.why.empty() ? "" : "; ", run.elapsed_seconds);
}

Answer answer_to(const RuleOptions& options, int threads, const quadrature::ByRegions& by_regions,
                 const quadrature::VegasEngineFor& engine, std::optional<std::int64_t> budget) {
  quadrature::check(options.tolerance);
  quadrature::Tolerance tolerance = options.tolerance;
  const bool single = options.element == Element::f32;
  if (single && (tolerance.relative > 0 || tolerance.absolute > 0))
    tolerance.relative = std::fmax(tolerance.relative, min_single);
  Answer out;
  if (options.one_variable()) {
    quadrature::Range range = options.box.axes[0];
    if (range.lower > range.upper) std::swap(range.lower, range.upper);
    const quadrature::Integrand f = quadrature::integrand_of(options.formula, options.variables[0], range);
    out =
        quadrature::by_name(options.rule, f, options.box.axes[0], tolerance, options.limits, options.points);
  } else {
    out = over_box(options, tolerance, threads, by_regions, engine, budget);
  }
  // The requested tolerance is below the precision of f32.
  if (out.converged() && !(out.error() <= options.tolerance.of(out.value)))
    out.reason = quadrature::Reason::roundoff;
  return out;
}

Values values_of(const Answer& answer, double scale) {
  const double factor = std::fabs(scale);
  // An infinite error stays infinite, even times 0.
  const auto scaled = [factor](double error) { return std::isinf(error) ? error : error * factor; };
  Values out;
  out["error"] = scaled(answer.error());
  out["truncation"] = scaled(answer.truncation);
  out["rounding"] = scaled(answer.rounding);
  if (answer.converged() && std::isfinite(answer.width)) out["width"] = answer.width;
  out["condition"] = answer.condition();
  out["evaluations"] = answer.evaluations;
  out["reason"] = quadrature::reason_text(answer);
  out["by"] = std::string(answer.rule);
  if (!answer.why.empty()) out["why"] = answer.why;
  if (!std::isnan(answer.exponent)) out["exponent"] = answer.exponent;
  return out;
}

// --- tables of samples ---

namespace {

std::vector<double> column(const Arguments& arguments, const std::string& name) {
  std::vector<double> out;
  const auto read = [&](auto type) {
    const auto view = arguments.view<const decltype(type), 1>(name);
    for (std::int64_t i = 0; i < view.extent[0]; ++i)
      out.push_back(static_cast<double>(view.data[i * view.stride[0]]));
  };
  if (arguments.element() == Element::f32) read(float());
  else read(double());
  return out;
}

// Evaluates the formula of x and y at every sample; LIMITS may fix parameters.
std::vector<double> formula_at(const Arguments& arguments, const std::vector<double>& x,
                               const std::vector<double>& y) {
  const std::string& limits = arguments.text("LIMITS");
  const Limits read = limits.empty() ? Limits{} : read_limits("x=[0,0] " + limits);
  if (read.ranges.size() > 1) throw Error("samples bring their own limits: the first and the last x");
  const auto program =
      formula::compile<double>(formula_with(arguments.text("FORMULA"), read.fixed), {"x", "y"});
  std::vector<double> out(x.size());
  const formula::Input<double> inputs[2] = {{x.data()}, {y.data()}};
  formula::evaluate_many<double>(program, inputs, x.size(), out.data());
  return out;
}

}  // namespace

Answer answer_from_samples(const Arguments& arguments) {
  if (!arguments.has("X") || !arguments.has("Y"))
    throw Error("samples come as two files: --x FILE and --y FILE");
  const std::string& rule = arguments.text("rule");
  if (rule != "auto" && rule != "trapezoid" && rule != "simpson")
    throw Error("samples are integrated by --rule trapezoid or simpson");
  const std::vector<double> x = column(arguments, "X"), y = formula_at(arguments, x, column(arguments, "Y"));
  Answer out = rule == "simpson" ? quadrature::simpson_of(x, y) : quadrature::trapezoid_of(x, y);
  if (rule == "auto")
    if (const Answer other = quadrature::simpson_of(x, y); other.error() < out.error()) out = other;
  out.why = x.size() < 3 ? "two samples: none can be left out, so the error is unknown"
                         : "samples: the error is what leaving out every second one changes";
  // The samples are given, so only an explicitly requested tolerance can be missed.
  quadrature::Tolerance tolerance = tolerance_of(arguments, true);
  quadrature::check(tolerance);
  if (arguments.text("relative").empty()) tolerance.relative = 0;
  if (out.reason != quadrature::Reason::unresolved) return out;
  if (arguments.text("relative").empty() && arguments.text("absolute").empty())
    out.reason = quadrature::Reason::as_requested;
  else if (out.error() <= tolerance.of(out.value)) out.reason = quadrature::Reason::converged;
  else out.why += "; the tolerance needs more of them";
  return out;
}

}  // namespace tessera::integration
