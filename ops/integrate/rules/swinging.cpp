// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/swinging.hpp"
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/probe.hpp"
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

// Where the formula breaks, or shows a needle, no tail begins before it.
double beyond_features(const Features& found, double base, bool above) {
  const auto pass = [&](double x) { base = above ? std::fmax(base, x) : std::fmin(base, x); };
  for (const double x : found.breaks) pass(x);
  constexpr double around = 8;
  for (std::size_t i = 0; i < found.needles.size(); ++i)
    pass(found.needles[i] + (above ? around : -around) * found.widths[i]);
  return base;
}

// What was tried, from the tail's beginning outwards.
struct Outwards {
  std::vector<double> x, size;
};

Outwards tried_along(Sampler& sampler, const Tail& tail) {
  Outwards out;
  const Range& range = sampler.range();
  const Range part = tail.direction > 0 ? Range{tail.start, range.upper} : Range{range.lower, tail.start};
  out.x = probe_places(part);
  if (tail.direction < 0) std::reverse(out.x.begin(), out.x.end());
  out.size.resize(out.x.size());
  if (!sampler(out.x, out.size)) return {};
  for (double& y : out.size) y = std::isfinite(y) ? std::fabs(y) : 0;
  return out;
}

// Behind the last place at which f stands out from the first swings: a tail that is summed from these on
// would not hold it. NaN: there is none, or the swings grow as far as anybody sees.
double behind_later_peaks(Sampler& sampler, const Tail& tail) {
  constexpr double stands_out = 2;
  constexpr std::size_t seen_after = 24, further = 3;
  const Outwards tried = tried_along(sampler, tail);
  const double seen = tail.zeros.back();
  double usual = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < tried.x.size(); ++i) {
    if (std::fabs(tried.x[i] - tail.start) <= seen) usual = std::fmax(usual, tried.size[i]);
    else if (tried.size[i] > stands_out * usual) last = i;
  }
  if (last == 0 || last + seen_after >= tried.x.size()) return nothing;
  return tried.x[last + further];
}

// The tail behind everything that stands out.
Tail quiet_tail(Sampler& sampler, double base, int direction) {
  constexpr int most = 4;
  Tail out = tail_of(sampler, base, direction);
  for (int i = 0; i < most && !out.zeros.empty(); ++i) {
    const double behind = behind_later_peaks(sampler, out);
    if (std::isnan(behind)) break;
    Tail later = tail_of(sampler, behind, direction);
    if (later.zeros.empty()) break;
    out = std::move(later);
  }
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
  const Features found = f.features ? f.features(range) : Features{};
  base = beyond_features(found, base, above);
  const Tail tail = quiet_tail(sampler, base, above ? 1 : -1);
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
  if (!found.crowded) return out;
  out.why = "the formula shows more narrow peaks than can be looked at: nothing is claimed";
  if (out.converged()) out.reason = Reason::doubtful;
  out.truncation = infinity;
  return out;
}

}  // namespace tessera::quadrature
