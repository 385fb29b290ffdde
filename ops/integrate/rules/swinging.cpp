// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/swinging.hpp"
#include <algorithm>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/later_peaks.hpp"
#include "ops/integrate/rules/probe.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

// The integrand of a part of the range: it is told distances to the limits of the whole.
Integrand part_of(const Integrand& f, const Range& whole, const Range& part) {
  Integrand out = f;
  out.values = [&f, whole, part](std::span<const double> x, std::span<const double> distance,
                                 std::span<double> y) {
    std::vector<double> told(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool exact = distance[i] >= 0 ? part.lower == whole.lower : part.upper == whole.upper;
      told[i] = exact ? distance[i] : whole.distance(x[i]);
    }
    f.values(x, told, y);
  };
  // The errors of values far inside need no exact distance.
  const auto within = [whole](const Integrand::Values& of) -> Integrand::Values {
    if (!of) return {};
    return [&of, whole](std::span<const double> x, std::span<const double>, std::span<double> y) {
      std::vector<double> told(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) told[i] = whole.distance(x[i]);
      of(x, told, y);
    };
  };
  out.errors = within(f.errors);
  out.open = within(f.open);
  return out;
}

// Where the formula breaks, or shows a needle, no tail begins before it.
double beyond_features(const Features& found, double base, bool above) {
  const auto pass = [&](double x) { base = above ? std::fmax(base, x) : std::fmin(base, x); };
  for (const double x : found.breaks) pass(x);
  constexpr double around = 8;
  for (std::size_t i = 0; i < found.needles.size(); ++i)
    pass(found.needles[i] + (above ? around : -around) * found.widths[i]);
  return base;
}

Answer unsuited(const char* rule, const char* why) {
  Answer out;
  out.rule = rule;
  out.reason = Reason::unresolved;
  out.why = why;
  return out;
}

// Points in step with the zeros see neither that the swings drift, nor that they do not fade, nor what stands
// between two of them.
Answer of_tail(Sampler& sampler, const Tail& tail, double allowed, Swings how) {
  double drift = 0;
  const Answer by_zeros = between_zeros(sampler, tail, allowed, &drift);
  if (how != Swings::ooura_mori || by_zeros.without_limit() || sampler.exhausted()) return by_zeros;
  Answer out = ooura_mori(sampler, tail, allowed);
  const double apart = std::fabs(out.value - by_zeros.value);
  out.truncation += drift + (apart > out.truncation + by_zeros.error() ? apart : 0);
  return out;
}

}  // namespace

Answer swinging(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                std::span<const double> points, Swings how) {
  const bool below = std::isinf(range.lower), above = std::isinf(range.upper);
  const char* const rule = how == Swings::epsilon ? "epsilon" : "oscillating";
  if (below == above) throw Error(std::string("the rule ") + rule + " takes a range with one infinite limit");
  Sampler sampler(f, range, limits);
  double base = above ? range.lower : range.upper;
  for (const double x : points) base = above ? std::fmax(base, x) : std::fmin(base, x);
  const Features found = f.features ? f.features(range) : Features{};
  base = beyond_features(found, base, above);
  const std::vector<double> x = probe_places(range, {}, found.centres);
  std::vector<double> y(x.size());
  (void)sampler(x, y);
  const Tail tail = quiet_tail(sampler, {x, y}, base, above ? 1 : -1);
  const auto stopped = [&](Answer answer) {
    answer.rule = rule;
    answer.reason = sampler.cap();
    answer.evaluations = sampler.evaluations();
    return answer;
  };
  if (sampler.exhausted()) return stopped({});
  if (tail.zeros.empty()) return unsuited(rule, "the tail does not swing");
  if (how == Swings::ooura_mori && std::isnan(tail.gap))
    return unsuited(rule, "the zeros of the tail keep no distance: epsilon may serve");
  const double allowed = tolerance.of(between_zeros(sampler, tail, infinity).magnitude) / 8;
  Answer out = of_tail(sampler, tail, allowed, how);
  out.rule = rule;
  if (sampler.exhausted()) return stopped(out);
  const Range part = above ? Range{range.lower, tail.start} : Range{tail.start, range.upper};
  Limits left = limits;
  left.evaluations = std::max<std::int64_t>(1, limits.evaluations - sampler.evaluations());
  const Integrand inner = part_of(f, range, part);
  const Answer head = automatic(inner, part, {tolerance.relative / 4, tolerance.absolute / 4}, left, points);
  out.value += head.value;
  out.truncation += head.truncation;
  out.rounding += head.rounding;
  out.magnitude += head.magnitude;
  out.evaluations = sampler.evaluations() + head.evaluations;
  if (out.without_limit()) return out;  // the value is the Abel sum
  if (out.error() <= tolerance.of(out.value)) out.reason = Reason::converged;
  else if (out.reason == Reason::converged) out.reason = head.converged() ? Reason::unresolved : head.reason;
  if (!found.crowded) return out;
  out.why = "the formula shows more narrow peaks than can be looked at: nothing is claimed";
  if (out.converged()) out.reason = Reason::doubtful;
  out.truncation = infinity;
  return out;
}

}  // namespace tessera::quadrature
