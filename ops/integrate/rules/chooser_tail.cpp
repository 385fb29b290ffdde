// SPDX-License-Identifier: Apache-2.0
// The chooser's way with tails that swing for ever.
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/chooser.hpp"
#include "ops/integrate/rules/later_peaks.hpp"
#include "ops/integrate/rules/soft_window.hpp"

namespace tessera::quadrature {

// Where the first swings do not fade, as those of sin(x+1/x)/x do not near 0, they may further out; an answer
// without a limit where they do not.
Answer Chooser::fading_tail(Tail& tail, int direction, double& allowed) {
  constexpr int most_steps = 6;
  constexpr double further = 16;
  Tail here = tail;
  Answer first;
  for (int step = 0; step <= most_steps && !here.zeros.empty(); ++step) {
    const Answer rough = between_zeros(sampler_, here, infinity);
    const double enough = tolerance_.of(rough.magnitude) / 8;
    Answer one = between_zeros(sampler_, here, enough);
    if (step == 0 || !one.without_limit()) {
      allowed = enough;
      tail = here;
    }
    if (!one.without_limit()) return one;
    if (step == 0) first = one;
    here = tail_of(sampler_, here.start + direction * further * here.zeros.back(), direction);
  }
  return first;
}

// One half-infinite tail that swings for ever; `end` becomes the zero from which on it is integrated.
bool Chooser::add_tail(int direction, double& end, Answer& sum, std::string& how) {
  const Range& range = sampler_.range();
  double base = std::isfinite(range.lower) ? range.lower : std::isfinite(range.upper) ? range.upper : 0;
  for (const double x : points_) base = direction < 0 ? std::fmin(base, x) : std::fmax(base, x);
  Tail tail = quiet_tail(sampler_, {seen_.x, seen_.y}, base, direction);
  if (tail.zeros.empty()) {
    add_through_windows(base, direction, end, sum, how);
    return true;
  }
  double allowed = 0;
  const Answer one = fading_tail(tail, direction, allowed);
  if (one.without_limit()) {
    if (add_through_windows(base, direction, end, sum, how)) return true;
    say(one.reason == Reason::diverges ? "the tail swings and does not fade"
                                       : "the tail swings, and whether it fades is not seen");
    Answer none = one;
    none.value = nothing;  // it would be that of the tail alone
    none.rounding = 0;
    give_up(none, one.reason, direction * infinity);
    return false;
  }
  const bool regular = !std::isnan(tail.gap);
  const Answer other =
      regular ? ooura_mori(sampler_, tail, allowed) : between_middles(sampler_, tail, allowed);
  if (!(std::fmax(one.truncation, std::fabs(one.value - other.value)) <= allowed) &&
      add_through_windows(base, direction, end, sum, how))
    return true;
  sum.value += one.value;
  sum.truncation += std::fmax(one.truncation, std::fabs(one.value - other.value));
  sum.rounding += one.rounding;
  sum.magnitude += one.magnitude;
  end = tail.start;
  how = regular ? fmt::format(
                      "its zeros are {:.6g} apart: the epsilon algorithm from zero to zero, and Ooura-Mori",
                      tail.gap)
                : "its zeros draw near or apart: the epsilon algorithm from zero to zero, and between their "
                  "middles";
  return true;
}

// Where no zeros alternate, or not well; false: nothing is claimed.
bool Chooser::add_through_windows(double base, int direction, double& end, Answer& sum, std::string& how) {
  constexpr double skipped = 4, wide = 100,
                   other_wide = 137;  // swings: as many as a window needs to hide them
  const double swing = swing_length(sampler_, base, direction);
  if (std::isnan(swing)) return false;
  double start = base + direction * skipped * swing;
  if (const double behind = behind_later_peaks({seen_.x, seen_.y}, start, direction, wide * swing);
      !std::isnan(behind))
    start = behind;
  const Tolerance tolerance{tolerance_.relative / 4, tolerance_.of(least_magnitude(seen_)) / 4};
  const Answer one = behind_soft_windows(sampler_, start, direction, wide * swing, swing, tolerance);
  if (!one.converged()) return false;
  const Answer other = behind_soft_windows(sampler_, start, direction, other_wide * swing, swing, tolerance);
  const double apart = std::fabs(one.value - other.value);
  if (!other.converged() || !(apart <= tolerance.of(one.magnitude))) return false;
  sum.value += one.value;
  sum.truncation += one.truncation + apart;
  sum.rounding += one.rounding;
  sum.magnitude += one.magnitude;
  end = start;
  how = fmt::format(
      "its turns are {:.3g} apart: windows that close softly, each twice as wide, and the epsilon "
      "algorithm, twice from other widths",
      swing);
  return true;
}

// What lies before the tails is finite, or does not swing.
Answer Chooser::before_tails(const Range& rest) {
  const Range& range = sampler_.range();
  Integrand inner = sampler_.integrand();
  inner.features = {};
  const auto tell = [&](std::span<const double> x, std::span<const double> distance, double* told) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = distance[i];  // exact where an end is still the old one
      const bool exact = d >= 0 ? rest.lower == range.lower : rest.upper == range.upper;
      told[i] = exact ? d : range.distance(x[i]);
    }
  };
  const auto told_by = [&](const Integrand::Values& of) -> Integrand::Values {
    if (!of) return {};
    return [&tell, &of](std::span<const double> x, std::span<const double> distance, std::span<double> y) {
      std::vector<double> told(x.size());
      tell(x, distance, told.data());
      of(x, told, y);
    };
  };
  inner.errors = told_by(sampler_.integrand().errors);
  inner.open = told_by(sampler_.integrand().open);
  inner.values = [&](std::span<const double> x, std::span<const double> distance, std::span<double> y) {
    double told[256];
    for (std::size_t done = 0; done < x.size(); done += 256) {
      const std::size_t n = std::min<std::size_t>(256, x.size() - done);
      tell(x.subspan(done, n), distance.subspan(done, n), told);
      if (!sampler_(x.subspan(done, n), {told, n}, y.subspan(done, n)))
        std::fill(y.begin(), y.end(), nothing);
    }
  };
  Limits limits = limits_;
  limits.evaluations = std::max<std::int64_t>(1, limits.evaluations - sampler_.evaluations());
  Answer out =
      Chooser(inner, rest, {tolerance_.relative / 4, tolerance_.absolute / 4}, limits, points_).run();
  // Once the time is over there are no values left.
  if (sampler_.exhausted()) {
    out.reason = sampler_.cap();
    out.where = nothing;
    out.truncation = infinity;
  }
  return out;
}

bool Chooser::by_tail() {
  const Range& range = sampler_.range();
  if (range.finite()) return false;
  Answer sum;
  sum.value = sum.truncation = 0;
  double from = range.lower, to = range.upper;
  std::string how;
  if (std::isinf(from) && !add_tail(-1, from, sum, how)) return true;
  if (std::isinf(to) && !add_tail(1, to, sum, how)) return true;
  if (how.empty() || !(from < to)) return false;
  const Answer head = before_tails({from, to});
  charged_ = true;
  sum.value += head.value;
  sum.truncation += head.truncation;
  sum.rounding += head.rounding;
  sum.magnitude += head.magnitude;
  sum.rule = "epsilon";
  const double allowed = tolerance_.of(sum.value);
  Reason reason = Reason::converged;
  if (!(sum.error() <= allowed))
    reason =
        head.converged() ? sum.rounding > allowed / 2 ? Reason::roundoff : Reason::doubtful : head.reason;
  say("the tail swings; " + how + "; before it: " + head.why);
  return give_up(sum, reason, head.where);
}

}  // namespace tessera::quadrature
