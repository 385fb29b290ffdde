// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/by_name.hpp"
#include <algorithm>
#include "ops/integrate/quadrature/auto.hpp"
#include "ops/integrate/quadrature/equidistant.hpp"
#include "ops/integrate/quadrature/gauss_kronrod.hpp"
#include "ops/integrate/quadrature/oscillatory.hpp"
#include "ops/integrate/quadrature/tanh_sinh.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

Error unknown(const std::string& rule) {
  const bool of_several = rule == "genz_malik" || rule == "quasi_random" || rule == "vegas";
  return Error(of_several ? "the rule " + rule + " is for several variables" : "there is no rule " + rule);
}

Answer of_rule(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points) {
  if (rule == "tanh_sinh") return tanh_sinh(f, range, tolerance, limits, points);
  if (rule == "gauss_kronrod") return gauss_kronrod(f, range, tolerance, limits, points);
  if (rule == "epsilon") return oscillatory(f, range, tolerance, limits, points, TailRule::epsilon);
  if (rule == "oscillating") return oscillatory(f, range, tolerance, limits, points, TailRule::ooura_mori);
  if (rule != "richardson" && rule != "simpson") throw unknown(rule);
  if (!points.empty()) throw Error("the rule " + rule + " takes no known breaks");
  return rule == "simpson" ? simpson(f, range, tolerance, limits) : trapezoid(f, range, tolerance, limits);
}

}  // namespace

Answer by_name(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points) {
  if (rule == "auto") return automatic(f, range, tolerance, limits, points);
  check(range, tolerance, limits);
  for (const double x : points)
    if (std::isnan(x)) throw Error("a known break is not a number");
  if (range.lower == range.upper) return *integrate_trivially(f, range);
  Range upwards = range;
  if (range.lower > range.upper) std::swap(upwards.lower, upwards.upper);
  std::vector<double> cuts(points.begin(), points.end());
  const bool takes_cuts = rule != "richardson" && rule != "simpson";
  if (f.breaks && takes_cuts)
    for (const double x : f.breaks(upwards)) cuts.push_back(x);
  Answer out =
      of_rule(rule, f, upwards, tolerance, limits, takes_cuts ? std::span<const double>(cuts) : points);
  if (out.converged() && out.value == 0 && out.magnitude == 0 && !f.constant) {
    out.reason = Reason::doubtful;
    out.truncation = infinity;
    out.why = "nothing but zeros was seen";
  }
  if (out.without_limit() || out.reason == Reason::non_finite) {
    out.value = nothing;
    out.truncation = infinity;
  }
  judge_size(out);
  if (range.lower > range.upper) out.value = -out.value;
  out.why = "no other rule checks it" + (out.why.empty() ? "" : "; " + out.why);
  return out;
}

}  // namespace tessera::quadrature
