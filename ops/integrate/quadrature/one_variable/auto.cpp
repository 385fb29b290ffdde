// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include "ops/integrate/quadrature/one_variable/gauss_kronrod.hpp"
#include "ops/integrate/quadrature/one_variable/kronrod_nodes.hpp"
#include "ops/integrate/quadrature/one_variable/oscillatory.hpp"
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"
#include "tessera/core/text/error.hpp"
#include "ops/integrate/quadrature/one_variable/equidistant.hpp"

namespace tessera::quadrature {
namespace {

constexpr int usual_level = 4, deepest = 8;  // levels of tanh-sinh

class Automatic {
 public:
  Automatic(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
            std::span<const double> points);

  Answer run();

 private:
  Answer by_tanh_sinh();
  Answer compare(Answer first);
  Answer by_bisection(const Answer& first);
  Answer bisect(const Adaptive& how);
  bool add_cut(double x);
  bool take_tails();
  Answer finish(Answer answer);

  const Integrand& f_;
  const Range whole_;
  Range range_;  // without the tails that are summed as series
  Tolerance tolerance_;
  Sampler sampler_;
  std::vector<double> cuts_;
  std::vector<Part> parts_;
  std::vector<TanhSinh> rules_;
  Answer tails_ = nothing();  // the integral over the tails
  const char* how_ = "";
  int added_ = 0;          // cuts where f has no value
  double gap_factor_ = 1;  // the first gap of bisection in gaps of tanh-sinh
};

Automatic::Automatic(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                     std::span<const double> points)
    : f_(f),
      whole_(range),
      range_(range),
      tolerance_(tolerance),
      sampler_(limits),
      cuts_(points.begin(), points.end()) {
  if (f.breaks)
    for (const double x : f.breaks(range)) cuts_.push_back(x);
}

Answer Automatic::by_tanh_sinh() {
  rules_.clear();
  parts_.clear();
  const std::vector<Range> ranges = cut(range_, cuts_);
  parts_.reserve(ranges.size());
  rules_.reserve(ranges.size());
  for (const Range& range : ranges) parts_.emplace_back(f_, whole_, range);
  for (const Part& part : parts_) rules_.emplace_back(sampler_, part);
  const int least = ranges.size() <= 2    ? usual_level
                    : ranges.size() <= 16 ? usual_level - 1
                                          : usual_level - 2;
  return refine(rules_, tolerance_, least, deepest, tails_);
}

Answer Automatic::bisect(const Adaptive& how) {
  std::vector<Track> tracks;
  tracks.reserve(rules_.size());
  for (const TanhSinh& rule : rules_) {
    Track track{&rule.part(), &rule.variable()};
    // Starts with as many points as tanh-sinh took, so that it sees the same features.
    track.cell = std::ldexp(first_cell, std::min(0, usual_level - rule.level()));
    track.from = -first_cell * std::ceil(rule.reach(0) / first_cell);
    track.to = first_cell * std::ceil(rule.reach(1) / first_cell);
    for (const int side : {0, 1}) track.reach[side] = rule.reach(side);
    tracks.push_back(track);
  }
  Answer out = adaptive(sampler_, tracks, tolerance_, how, tails_);
  for (const TanhSinh& rule : rules_) out.truncation += rule.beyond(0) + rule.beyond(1);
  return out;
}

// Compares the value of tanh-sinh, which has converged, with that of Gauss-Kronrod.
Answer Automatic::compare(Answer first) {
  constexpr int rounds = 3;
  how_ = "Gauss-Kronrod agrees";
  for (int round = 0;; ++round) {
    const Answer second = bisect({});
    if (second.reason == Reason::non_finite) return second;
    const double apart = std::fabs(first.value - second.value);
    first.truncation = std::fmax(first.truncation, apart);
    if (first.error() <= tolerance_.of(first.value)) return first;
    first.reason = sampler_.exhausted() ? sampler_.cap() : Reason::doubtful;
    how_ = "Gauss-Kronrod finds another value";
    if (sampler_.exhausted() || round == rounds) return first;
    // One of the rules has missed a feature that smaller steps may show.
    int level = 0;
    for (const TanhSinh& rule : rules_) level = std::max(level, rule.level());
    Answer again = refine(rules_, tolerance_, std::min(level + 2, deepest_level), deepest_level, tails_);
    if (!again.converged()) return by_bisection(again);
    first = std::move(again);
  }
}

// Compares two bisections, because tanh-sinh has not converged: f has kinks, jumps or many scales.
Answer Automatic::by_bisection(const Answer& first) {
  constexpr double golden = 0.3819660112501051;
  const Answer second = bisect({Pair::k21, 0.5});
  if (second.reason == Reason::non_finite || !second.converged()) {
    how_ = "neither tanh-sinh nor Gauss-Kronrod converges";
    Answer out = second.truncation < first.truncation || !std::isfinite(first.value) ? second : first;
    out.reason = second.reason;
    out.where = second.where;
    return out;
  }
  const Answer third = bisect({Pair::k15, golden});
  double change = 0;  // the estimated error of the first answer
  for (const TanhSinh& rule : rules_) change += 4 * rule.change();
  Answer out = second;
  out.truncation = std::fmax(out.truncation, std::fabs(second.value - third.value));
  out.rounding = std::fmax(second.rounding, third.rounding);
  how_ = "two Gauss-Kronrod pairs agree; tanh-sinh converges too slowly";
  gap_factor_ = 2.5;
  if (sampler_.exhausted()) out.reason = sampler_.cap();
  else if (!third.converged()) out.reason = third.reason;
  else if (!(out.error() <= tolerance_.of(out.value))) out.reason = Reason::doubtful;
  else if (!(std::fabs(out.value - first.value) <= change + first.rounding + tolerance_.of(out.value))) {
    out.truncation = std::fabs(out.value - first.value);
    out.reason = Reason::doubtful;
  }
  if (!out.converged()) how_ = "tanh-sinh and two Gauss-Kronrod pairs do not agree";
  return out;
}

// Adds a breakpoint where f has no value, such as 0 for sin(x)/x.
bool Automatic::add_cut(double x) {
  constexpr int most = 8;
  if (!range_.contains(x) || added_ == most) return false;
  for (const double known : cuts_)
    if (std::fabs(known - x) <= 64 * unit * std::fabs(x)) return false;
  cuts_.push_back(x);
  ++added_;
  return true;
}

// Integrates oscillating tails as series, and shortens the range by them.
bool Automatic::take_tails() {
  double inner[2] = {infinity, -infinity};  // the outermost cuts
  for (const double x : cuts_)
    if (range_.contains(x)) {
      inner[0] = std::fmin(inner[0], x);
      inner[1] = std::fmax(inner[1], x);
    }
  bool any = false;
  for (const int side : {0, 1}) {
    if (std::isfinite(side == 0 ? whole_.lower : whole_.upper)) continue;
    double from = inner[side];
    if (!std::isfinite(from)) from = side == 0 ? whole_.upper : whole_.lower;
    if (!std::isfinite(from)) from = 0;
    const Part part(
        f_, whole_,
        side == 0 ? Range{-infinity, from, whole_.rounding} : Range{from, infinity, whole_.rounding});
    Tail tail = find_tail(sampler_, part);
    const Answer sum = tail.zeros.empty() ? integrate_periodic_tail(sampler_, part, tail)
                                          : integrate_tail(sampler_, part, tail);
    if (std::isnan(tail.start)) continue;
    if (!sum.converged()) {
      if (!sum.without_limit() && !sampler_.exhausted()) continue;
      tails_ = sum;
      if (sampler_.exhausted()) tails_.reason = sampler_.cap();
      return true;
    }
    tails_.rule = sum.rule;
    tails_.value += sum.value;
    tails_.truncation += sum.truncation;
    tails_.rounding += sum.rounding;
    tails_.magnitude += sum.magnitude;
    (side == 0 ? range_.lower : range_.upper) = tail.start;
    any = true;
  }
  return any;
}

Answer Automatic::run() {
  bool tails_looked_for = false;
  while (true) {
    Answer out = by_tanh_sinh();
    if (out.converged() && out.magnitude > 0) {
      out = compare(std::move(out));
    } else if (out.reason == Reason::unresolved && !sampler_.exhausted()) {
      if (!whole_.finite() && !std::exchange(tails_looked_for, true) && take_tails()) {
        if (tails_.without_limit() || sampler_.exhausted()) return finish(tails_);
        continue;
      }
      if (!std::isinf(out.where)) out = by_bisection(out);
    }
    if (out.reason == Reason::non_finite && add_cut(out.where)) continue;
    return finish(std::move(out));
  }
}

Answer Automatic::finish(Answer out) {
  out.evaluations = sampler_.evaluations();
  const bool one = rules_.size() == 1;
  if (tails_.magnitude > 0) out.rule = tails_.rule;
  else if (one && std::string_view(out.rule) == "tanh-sinh") out.rule = rules_[0].variable().name();
  if (rules_.size() > 1) out.why = fmt::format("cut into {} parts; ", rules_.size());
  if (tails_.magnitude > 0) out.why += "the tail oscillates and is summed as a series; ";
  out.why += how_;
  if (out.without_limit() || out.reason == Reason::non_finite) {
    out.value = nan;
    out.truncation = infinity;
    out.rounding = 0;
    return out;
  }
  if (out.magnitude == 0 && out.reason == Reason::converged) {
    out.reason = Reason::doubtful;
    out.truncation = infinity;
    out.why = "all samples were zero";
  }
  out.width = 0;
  for (const TanhSinh& rule : rules_) out.width = std::fmax(out.width, gap_factor_ * rule.gap());
  double lost = 0;
  const bool capped = sampler_.exhausted();
  for (TanhSinh& rule : rules_) lost += rule.error_of_values();
  out.evaluations = sampler_.evaluations();
  out.rounding += lost;
  const double allowed = tolerance_.of(out.value);
  if (out.converged() && sampler_.exhausted() && !capped) out.reason = sampler_.cap();
  if (out.converged() && !(out.error() <= allowed)) out.reason = Reason::roundoff;
  // The rules may disagree only because of rounding in the values.
  const bool hindered = out.reason == Reason::doubtful || out.reason == Reason::unresolved;
  if (hindered && lost > allowed / 2 && out.truncation <= 8 * lost) out.reason = Reason::roundoff;
  if (out.reason == Reason::roundoff && out.truncation > 8 * out.rounding) out.reason = Reason::unresolved;
  judge_size(out);
  // A value with an infinite error is unknown.
  if (std::isinf(out.truncation) && out.magnitude > 0 && !std::isinf(out.value)) out.value = nan;
  return out;
}

}  // namespace

std::optional<Answer> integrate_trivially(const Integrand& f, const Range& range) {
  const bool empty = range.lower == range.upper;
  if (!empty && !f.constant) return std::nullopt;
  Answer out;
  out.rule = "none";
  out.why = empty ? "the limits are the same" : "the integrand is a constant";
  if (empty) {
    out.value = out.truncation = 0;
    out.reason = Reason::converged;
    return out;
  }
  // One abscissa suffices to see if f has a value.
  const double x = std::isfinite(range.lower) ? range.lower : std::isfinite(range.upper) ? range.upper : 0;
  const double distance = 0;
  const double value = *f.constant;
  double error = 0;
  if (f.errors) f.errors({&x, 1}, {&distance, 1}, {&error, 1});
  out.evaluations = 1;
  if (!std::isfinite(value)) {
    out.reason = Reason::non_finite;
    out.where = x;
    return out;
  }
  out.value = value == 0 ? 0 : value * (range.upper - range.lower);
  out.truncation = 0;
  out.reason = Reason::converged;
  if (std::isinf(out.value)) {
    out.truncation = infinity;
    out.reason = range.finite() ? Reason::too_large : Reason::diverges;
    if (!range.finite()) {
      out.value = nan;
      out.where = std::isinf(range.upper) ? range.upper : range.lower;
    }
  } else {
    out.magnitude = std::fabs(out.value);
    out.rounding = 2 * range.rounding * out.magnitude;
    if (error > 0) out.rounding += error * std::fabs(range.upper - range.lower);
  }
  return out;
}

void check(const Tolerance& tolerance) {
  // With an infinite tolerance, any value would converge.
  if (!(tolerance.relative >= 0 && tolerance.relative < infinity) ||
      !(tolerance.absolute >= 0 && tolerance.absolute < infinity))
    throw Error("a tolerance must be 0 or more, and finite");
}

void check(const Range& range, const Tolerance& tolerance, const Limits& limits) {
  if (std::isnan(range.lower) || std::isnan(range.upper))
    throw Error("a limit of the integral is not a number");
  check(tolerance);
  if (tolerance.relative == 0 && tolerance.absolute == 0) throw Error("one tolerance must be more than 0");
  if (limits.evaluations < 1 || !(limits.seconds > 0) || limits.regions < 1)
    throw Error("a cap must be more than 0");
  if (range.finite() && !std::isfinite(range.upper - range.lower))
    throw Error("the range is longer than the largest number: infinite limits may be meant");
}

namespace {

// Integrates a smooth callable by Gauss-Kronrod on the range, and on two parts of it, which must agree. None:
// it is not so smooth, and more must be known of it. In one pass, because the integrand may take nanoseconds.
std::optional<Answer> integrate_smooth(const Integrand& f, const Range& range, const Tolerance& tolerance) {
  constexpr double smooth = 1e-10,
                   golden = 0.3819660112501051;  // rough ones may agree to a few digits by chance
  constexpr std::size_t points = 21, all = 3 * points;
  const double length = range.upper - range.lower, cut = range.lower + golden * length;
  const double from[3] = {range.lower, range.lower, cut}, to[3] = {range.upper, cut, range.upper};
  double x[all], distance[all], y[all], value[3], moved = 0;
  for (std::size_t i = 0; i < all; ++i) {
    const std::size_t k = i / points, j = i % points;
    const double radius = 0.5 * (to[k] - from[k]);
    x[i] = from[k] + radius + radius * (j < 11 ? -kronrod21.x[j] : kronrod21.x[20 - j]);
    distance[i] = range.distance(x[i]);
  }
  f.values(x, distance, y);
  Answer out;
  out.truncation = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double *const at = x + k * points, *const of = y + k * points, radius = 0.5 * (to[k] - from[k]);
    double sum = 0, gauss = 0, size = 0;
    for (std::size_t j = 0; j < points; ++j) {
      const std::size_t node = std::min(j, points - 1 - j);
      sum += kronrod21.kronrod[node] * of[j];
      size += kronrod21.kronrod[node] * std::fabs(of[j]);
      if (node % 2 == 1) gauss += kronrod21.gauss[node / 2] * of[j];
      if (j > 0) moved += (of[j] - of[j - 1]) * (of[j] - of[j - 1]) * at[j] * at[j];
    }
    value[k] = radius * sum;
    if (k == 0) continue;
    out.magnitude += radius * size;
    const double apart = std::fabs(sum - gauss) / size;  // QUADPACK's estimate, as in gauss_kronrod.cpp
    out.truncation += radius * size * std::fmin(apart, 200 * apart * std::sqrt(200 * apart));
  }
  out.value = value[1] + value[2];
  out.truncation = std::fmax(out.truncation, std::fabs(value[0] - out.value));
  out.rounding = 4 * unit * out.magnitude + 4 * range.rounding * std::sqrt(moved);
  if (!(out.magnitude > 0 && out.truncation <= smooth * out.magnitude) ||
      !(out.error() <= 0.5 * tolerance.of(out.value)))
    return std::nullopt;
  out.reason = Reason::converged;
  out.evaluations = all;
  out.rule = "gauss-kronrod";
  out.why = "sums over the range and over two parts agree";
  out.width = (1 - golden) * 0.5 * kronrod21.x[9] * length;  // the largest gap
  return out;
}

}  // namespace

Answer automatic(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                 std::span<const double> points) {
  check(range, tolerance, limits);
  for (const double x : points)
    if (std::isnan(x)) throw Error("a known break is not a number");
  if (auto known = integrate_trivially(f, range)) return *known;
  const bool backwards = range.lower > range.upper;
  const Range upwards = backwards ? Range{range.upper, range.lower, range.rounding} : range;
  constexpr std::int64_t few = 100;
  std::optional<Answer> out;
  // More is known of a formula than its values.
  if (!f.breaks && points.empty() && range.finite() && limits.evaluations >= few)
    out = integrate_smooth(f, upwards, tolerance);
  if (!out) out = Automatic(f, upwards, tolerance, limits, points).run();
  if (backwards) out->value = -out->value;
  return *std::move(out);
}

namespace {

Error unknown(const std::string& rule) {
  const bool of_several = rule == "genz_malik" || rule == "quasi_random" || rule == "vegas";
  return Error(of_several ? "the rule " + rule + " is for several variables" : "there is no rule " + rule);
}

Answer of_rule(const std::string& rule, const Integrand& f, const Range& range, const Tolerance& tolerance,
               const Limits& limits, std::span<const double> points) {
  if (rule == "tanh_sinh") return tanh_sinh(f, range, tolerance, limits, points);
  if (rule == "gauss_kronrod") return gauss_kronrod(f, range, tolerance, limits, points);
  if (rule == "epsilon") return oscillatory(f, range, tolerance, limits, points);
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
    out.why = "all samples were zero";
  }
  if (out.without_limit() || out.reason == Reason::non_finite) {
    out.value = nan;
    out.truncation = infinity;
  }
  judge_size(out);
  if (range.lower > range.upper) out.value = -out.value;
  out.why = "no other rule checks it" + (out.why.empty() ? "" : "; " + out.why);
  return out;
}

}  // namespace tessera::quadrature
