// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/swinging.hpp"
#include <algorithm>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/tail.hpp"
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
  if (f.errors)
    out.errors = [&f, whole](std::span<const double> x, std::span<const double>, std::span<double> error) {
      std::vector<double> told(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) told[i] = whole.distance(x[i]);
      f.errors(x, told, error);
    };
  return out;
}

Answer unsuited(const char* rule, const char* why) {
  Answer out;
  out.rule = rule;
  out.reason = Reason::unresolved;
  out.why = why;
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
  const Tail tail = tail_of(sampler, base, above ? 1 : -1);
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
  double drift = 0;
  Answer out = between_zeros(sampler, tail, allowed, &drift);
  if (how == Swings::ooura_mori && !out.without_limit() && !sampler.exhausted()) {
    // Points in step with the zeros see neither that the swings drift nor that they do not fade.
    out = ooura_mori(sampler, tail, allowed);
    out.truncation += drift;
  }
  out.rule = rule;
  if (sampler.exhausted()) return stopped(out);
  if (out.without_limit()) return out;
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
  if (out.error() <= tolerance.of(out.value)) out.reason = Reason::converged;
  else if (out.reason == Reason::converged) out.reason = head.converged() ? Reason::unresolved : head.reason;
  return out;
}

}  // namespace tessera::quadrature
