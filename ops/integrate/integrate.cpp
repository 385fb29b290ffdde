// SPDX-License-Identifier: Apache-2.0
// Registers the operation integrate: its arguments, cost, reference and test cases.
#include <fmt/format.h>
#include <cmath>
#include <limits>
#include "integrate.hpp"
#include "integrate_rules.hpp"
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "sum/simd_sum.hpp"
#include "sum/trapezoid_error.hpp"
#include "tessera/core/operation/operation.hpp"
#include "verify/reference.hpp"

namespace tessera::integration {
namespace {

// Describes a number that may be written as a formula without variables; if it is empty, the default applies.
Parameter number(std::string name, std::string help, const char* type = "NUMBER") {
  Parameter out = parameter::text(std::move(name), "", std::move(help));
  out.options = {type};  // the type's name in --help
  return out;
}
Parameter numbers(std::string name, std::string help) {
  return number(std::move(name), std::move(help), "NUMBER,…");
}

Signature signature() {
  using namespace parameter;
  Signature out;
  out.parameters = {
      word("FORMULA", "the integrand, such as \"sqrt(1-x^2)\""),
      words("LIMITS",
            "FROM TO for x; x=[FROM,TO] for any variable; k=VALUE fixes a parameter. Limits may hold "
            "parameters and variables before: y=[0,x]. Where FROM > TO the integral is the negative of the "
            "one from TO to FROM"),
      choice("rule",
             {"auto", "trapezoid", "richardson", "simpson", "gauss_kronrod", "tanh_sinh", "epsilon",
              "genz_malik", "quasi_random", "vegas"},
             "how to integrate; auto chooses a rule and has another check it, or is the trapezoid sum where "
             "--strips are given"),
      number("relative",
             "the error that is allowed, as a share of the integral; 1e-10, for several variables 1e-6"),
      number("absolute", "the error that is allowed in any case; 0"),
      numbers("points", "abscissae where the integrand is known to break, such as \"0.5,pi/4\"; \"\": none"),
      number("most-evaluations", "limit on evaluations; 4e6, for several variables 1e8"),
      number("most-seconds",
             "limit in seconds, which makes the answer depend on the load; none, for --strips 10"),
      integer("random-seed", 1, 0, std::int64_t{1} << 62, "of the random points of quasi_random and vegas"),
      optional_integer("strips", 1, std::int64_t{1} << 50,
                       "strips of the trapezoid sum, such as 65536*256 or 1e6; --rule trapezoid takes "
                       "65536*256 if none are given"),
      real("scale", 1, "factor of the integral"),
      choice("sum", {"pairwise", "plain", "kahan", "double_float", "exact"},
             "how samples are added; plain and kahan: in the variant's own order; the others: the same bits "
             "from every variant, device and launch"),
      choice("abscissa", {"index", "accumulated"},
             "x from the strip's number, or by adding the width again and again"),
      choice("scale-at", {"end", "term"}, "multiply the sum by a strip's width, or each sample"),
      choice("roots", {"ieee", "fast"},
             "fast: also variants whose square roots are within 5 units of the last place"),
      optional_input("X", {"n"},
                     "abscissae of samples, which bring the limits; with them FORMULA is one of x and y"),
      optional_input("Y", {"n"}, "samples at these abscissae; FORMULA y is the table's own integral"),
      output("integral", {}, "the integral"),
      value("error", "how far the integral may be off: the next two together"),
      value("truncation", "the error of finitely many points"),
      value("rounding", "the error of finitely many digits"),
      value("width",
            "no feature wider than this was missed; infinite ranges: this share of the distance from a cut, "
            "finite limit or 0"),
      value("condition", "the integral of |f| over |the integral of f|: how far rounding is magnified"),
      value("evaluations", "how often the integrand was computed"),
      value("reason", "converged, or why not"),
      value("by", "the rule that gave the value"),
      value("exponent", "p of an error that falls as h^p, where the rule found one"),
      value("why", "why this rule")};
  return out;
}

double flops(const Arguments& arguments) {
  if (asks_for_rule(arguments)) return 0;  // the number of points is not known in advance
  const TrapezoidOptions options = trapezoid_options_of(arguments);
  return static_cast<double>(options.strips) * (1 + program_of<double>(arguments).step_count);
}

// --- values reported beside a trapezoid sum ---

template <class T>
quadrature::Answer answer_of_sum(const Arguments& arguments) {
  const Problem<T> p = Problem<T>::of(arguments);
  const TrapezoidSum sum{.value = static_cast<double>(*p.result) / static_cast<double>(p.scale),
                         .a = static_cast<double>(p.a),
                         .b = static_cast<double>(p.b),
                         .strips = p.strips,
                         .sum = p.sum,
                         .accumulated = p.accumulated,
                         .unit = std::numeric_limits<T>::epsilon() / 2};
  const int root = arguments.text("roots") == "fast" ? 10 : 1;
  const SampleAt sample = [&](long double x) { return bounded(p.integrand, {x, 0}, root); };
  const Problem<double> in_double = Problem<double>::of(arguments);
  const SumOf sum_of = [&](std::int64_t strips) {
    Problem<double> q = in_double;
    q.set_range(sum.a, sum.b, strips);
    q.scale = 1;
    q.sum = Sum::double_float;
    q.accumulated = q.scale_terms = false;
    return static_cast<long double>(add_by_simd(q, host_threads(), formula::Roots::ieee));
  };
  const bool requested = !arguments.text("relative").empty() || !arguments.text("absolute").empty();
  quadrature::Tolerance tolerance = tolerance_of(arguments, true);
  if (arguments.text("relative").empty()) tolerance.relative = 0;
  quadrature::check(tolerance);
  return trapezoid_answer(sum, sample, sum_of, requested ? &tolerance : nullptr);
}

void report(const Arguments& arguments, Values& values) {
  if (values.contains("reason")) return;  // a rule has reported
  const double scale = arguments.real("scale");
  const std::int64_t strips = trapezoid_options_of(arguments).strips;
  if (scale == 0) {  // the result is exactly 0
    values["evaluations"] = strips + 1;
    return;
  }
  const quadrature::Answer answer = arguments.element() == Element::f32 ? answer_of_sum<float>(arguments)
                                                                        : answer_of_sum<double>(arguments);
  values.merge(values_of(answer, scale));
  if (answer.reason == quadrature::Reason::as_requested && arguments.text("strips").empty())
    values["reason"] = fmt::format("as asked: the trapezoid sum; no --strips were named, so {}", strips);
}

Case tried(std::string formula, std::string limits, std::string strips, Arguments::Words more = {}) {
  more["FORMULA"] = std::move(formula);
  more["LIMITS"] = std::move(limits);
  more["strips"] = std::move(strips);
  return {.dims = {}, .words = std::move(more)};
}

// Covers every way of adding, strip counts on both sides of leaf, warp and run sizes, one strip, and fewer
// strips than threads.
std::vector<Case> cases() {
  const std::string circle = "sqrt(1-x^2)";
  std::vector<Case> out = {
      tried(circle, "0 1", "1", {{"scale", "4"}}),
      tried(circle, "0 1", "2"),
      tried("4/(1+x^2)", "0 1", "33"),
      tried("exp(x)", "-1 1", "1000", {{"scale", "-2"}}),
      tried("x*sin(3*x)+k", "0 pi k=0.25", "777"),
      tried("1/(1+t^4)", "t=[2,-1]", "1023"),
      tried("exp(x)", "1 1", "7"),
      tried("1/sqrt(x)", "0 1", "5"),
      tried(circle, "0 1", "20000", {{"roots", "fast"}}),
      tried("x^3-2*x", "0 1", "4097", {{"scale-at", "term"}}),
      tried(circle, "0 1", "3000", {{"abscissa", "accumulated"}}),
      tried(circle, "0 1", "3000", {{"sum", "plain"}, {"abscissa", "accumulated"}, {"scale-at", "term"}})};
  // A straight line, by each rule.
  for (const char* rule : {"richardson", "simpson", "gauss_kronrod", "tanh_sinh"})
    out.push_back(tried("3-2*x", "-1 0.5", "", {{"rule", rule}, {"scale", "2"}}));
  // Several variables: a polynomial that Genz and Malik's rule integrates exactly, and a Gaussian.
  const auto several = [&out](std::string rule, std::string relative, std::string formula,
                              std::string limits) {
    out.push_back({.dims = {},
                   .words = {{"FORMULA", std::move(formula)},
                             {"LIMITS", std::move(limits)},
                             {"rule", std::move(rule)},
                             {"relative", std::move(relative)},
                             {"most-evaluations", "20000"}}});
  };
  for (const auto& [rule, relative] : {std::pair{"genz_malik", "1e-6"}, std::pair{"vegas", "1e-2"}}) {
    several(rule, relative, "exp(-20*((x-0.4)^2+y^2))", "x=[0,1] y=[-1,0.5]");
    several(rule, relative, "x^3*y^2-2*y+z", "x=[0,1] y=[2,-1] z=[0,3]");
  }
  for (const char* sum : {"plain", "pairwise", "kahan", "double_float", "exact"}) {
    out.push_back(tried(circle, "0 1", "1", {{"sum", sum}}));
    out.push_back(tried(circle, "0 1", "1057", {{"sum", sum}, {"scale", "4"}}));
    out.push_back(tried("log(2+x)*cos(x)", "-1.5 2.5", "10000", {{"sum", sum}}));
  }
  return out;
}

Operation operation() {
  Operation out;
  out.name = "integrate";
  out.summary = "the integral of a formula";
  out.signature = signature();
  out.elements = {Element::f64, Element::f32};
  out.output = "integral";
  out.flops = flops;
  out.reference = reference;
  out.report_values = report;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool integrate_registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::integration
