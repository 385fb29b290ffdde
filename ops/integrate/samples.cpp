// SPDX-License-Identifier: Apache-2.0
// Integrals of tables: the formula is taken at every sample, and nothing can be asked for in between.
#include "samples.hpp"
#include "option_use.hpp"
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/equidistant.hpp"
#include "tessera/core/error.hpp"
#include "tessera/formula/evaluate.hpp"

namespace tessera::integration {
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

}  // namespace

bool has_samples(const Arguments& arguments) { return arguments.has("X") || arguments.has("Y"); }

formula::Program<double> program_of_samples(const std::string& formula, const std::string& limits) {
  const Limits read = limits.empty() ? Limits{} : read_limits("x=[0,0] " + limits);
  if (read.ranges.size() > 1) throw Error("samples bring their own limits: the first and the last x");
  return formula::compile<double>(formula_with(formula, read.fixed), {"x", "y"});
}

void check_samples(const Arguments& arguments) {
  if (!arguments.has("X") || !arguments.has("Y"))
    throw Error("samples come as two files: --x FILE and --y FILE");
  const std::string& rule = arguments.text("rule");
  if (rule != "auto" && rule != "trapezoid" && rule != "simpson")
    throw Error("samples are integrated by --rule trapezoid or simpson");
  check_options(arguments, Way::samples);
}

quadrature::Answer answer_from_samples(const Arguments& arguments) {
  check_samples(arguments);
  const auto program = program_of_samples(arguments.text("FORMULA"), arguments.text("LIMITS"));
  const std::vector<double> x = column(arguments, "X"), y = column(arguments, "Y");
  std::vector<double> heights(x.size());
  const formula::Input<double> inputs[2] = {{x.data()}, {y.data()}};
  formula::evaluate_many<double>(program, inputs, x.size(), heights.data());
  return answer_from_heights(arguments, heights);
}

quadrature::Answer answer_from_heights(const Arguments& arguments, std::span<const double> heights) {
  const std::string& rule = arguments.text("rule");
  const std::vector<double> x = column(arguments, "X");
  quadrature::Answer out = quadrature::trapezoid_of(x, heights);
  if (rule == "simpson") out = quadrature::simpson_of(x, heights);
  if (rule == "auto")
    if (const quadrature::Answer other = quadrature::simpson_of(x, heights); other.error() < out.error())
      out = other;
  out.why = x.size() < 3 ? "two samples: none can be left out, so nothing tells the error"
                         : "samples: the error is what leaving out every second one changes";
  // No more samples can be had: only a tolerance that was asked for can be missed.
  quadrature::Tolerance tolerance = tolerance_of(arguments, true);
  const bool asked = !arguments.text("relative").empty() || !arguments.text("absolute").empty();
  quadrature::check(tolerance);
  if (arguments.text("relative").empty()) tolerance.relative = 0;
  if (out.reason != quadrature::Reason::unresolved) return out;
  if (!asked) out.reason = quadrature::Reason::as_asked;
  else if (out.error() <= tolerance.of(out.value)) out.reason = quadrature::Reason::converged;
  else out.why += "; the tolerance needs more of them";
  return out;
}

}  // namespace tessera::integration
