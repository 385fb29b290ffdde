// SPDX-License-Identifier: Apache-2.0
// GSL's qags and qagi on every core, the integrand a function that the compiler has optimised. It knows the
// formulas that are measured, so that nobody can say the interpreter had held GSL up.
#include "qags.hpp"

namespace tessera::integrate_batch {
namespace {

struct Native {
  const char* formula;
  double (*f)(double x, double k);
};

constexpr Native natives[] = {
    {"exp(-k*x)*cos(x)", [](double x, double k) { return std::exp(-k * x) * std::cos(x); }},
    {"sqrt(x)*cos(k*x)*exp(-x*x)",
     [](double x, double k) { return std::sqrt(x) * std::cos(k * x) * std::exp(-x * x); }},
    {"cos(k*x)*exp(-x)", [](double x, double k) { return std::cos(k * x) * std::exp(-x); }},
    {"1/(1+k^2*x^2)", [](double x, double k) { return 1 / (1 + k * k * x * x); }},
};

const Native* native_of(const Arguments& arguments) {
  const BatchOptions& options = batch_options_of(arguments);
  if (options.names() != std::vector<std::string>{"k"}) return nullptr;
  for (const Native& native : natives)
    if (arguments.text("FORMULA") == native.formula) return &native;
  return nullptr;
}

void integrate_native(const Arguments& arguments, const Tuning&, Run& run) {
  const auto p = Problem<double>::of(arguments);
  const Native& native = *native_of(arguments);
  all_by_gsl(p, run, [&](std::int64_t i) {
    return [f = native.f, k = parameter_of(p.work.columns[0], i, p.work.count)](double x) { return f(x, k); };
  });
}

Choice choice() {
  Choice out;
  out.prepare[Element::f64] = without_plan(integrate_native);
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    if (native_of(arguments) != nullptr) return std::nullopt;
    return "only these formulas of x and k have been compiled: exp(-k*x)*cos(x), sqrt(x)*cos(k*x)*exp(-x*x), "
           "cos(k*x)*exp(-x), 1/(1+k^2*x^2)";
  };
  return out;
}

const Rung rung(baseline("GSL's qags and qagi on every core, the integrand compiled ahead", Where::cpu,
                         {choice()}));

}  // namespace
}  // namespace tessera::integrate_batch
