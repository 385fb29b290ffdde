// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/one_variable/oscillatory.hpp"
#include <algorithm>
#include <numbers>
#include "ops/integrate/quadrature/one_variable/gauss_kronrod.hpp"
#include "ops/integrate/quadrature/norm.hpp"
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {

void Epsilon::add(double member) {
  ++members_;
  std::vector<double> next{member};
  // The even entry with the smallest step from its neighbour is used: beyond it rounding dominates.
  double best = member, smallest = infinity;
  for (std::size_t k = 0; k < diagonal_.size(); ++k) {
    const double step = next[k] - diagonal_[k];
    if (std::fabs(step) <= 4 * unit * std::fabs(next[k])) {  // the sequence has converged here
      if (k % 2 == 0) {
        best = next[k];
        smallest = std::fabs(step);
      }
      break;
    }
    const double entry = (k == 0 ? 0 : diagonal_[k - 1]) + 1 / step;
    if (!std::isfinite(entry)) break;
    next.push_back(entry);
    if (k % 2 == 0) continue;
    const double change = std::fabs(entry - diagonal_[k - 1]);
    if (change < smallest) {
      smallest = change;
      best = entry;
    }
  }
  diagonal_ = std::move(next);
  earlier_ = std::exchange(before_, limit_);
  limit_ = best;
  if (members_ >= 5)
    error_ =
        std::max({std::fabs(limit_ - before_), std::fabs(limit_ - earlier_), 4 * unit * std::fabs(limit_)});
}

namespace {

// Finds a zero by the Illinois method: the secant, with a weight that keeps it from retaining one end.
double zero_between(Sampler& sampler, const Part& part, double a, double fa, double b, double fb) {
  for (int i = 0; i < 60; ++i) {
    double x = (a * fb - b * fa) / (fb - fa);
    if (!(std::fmin(a, b) < x && x < std::fmax(a, b))) x = 0.5 * (a + b);
    if (x == a || x == b) return x;
    const double y = sampler.value(part, x);
    if (y == 0 || !std::isfinite(y)) return x;
    if (std::fabs(b - a) <= 4 * unit * std::fabs(x)) return x;
    if ((y < 0) == (fb < 0)) {
      fa /= 2;
    } else {
      a = b;
      fa = fb;
    }
    b = x;
    fb = y;
  }
  return 0.5 * (a + b);
}

// Walks outwards, first in steps of a twentieth of the distance, then of a fraction of the zeros' spacing.
class Walk {
 public:
  Walk(Sampler& sampler, const Part& part, double from, int direction)
      : sampler_(sampler), part_(part), from_(from), direction_(direction), value_(at(distance_)) {}

  // Returns the next distance at which f changes sign; NaN: none is near.
  double next() {
    for (int step = 0; step < 600; ++step) {
      const double to = distance_ + stride();
      const double y = at(to);
      if (!std::isfinite(y)) return nan;
      const bool change = value_ != 0 && y != 0 && (y < 0) != (value_ < 0);
      const double zero =
          change ? zero_between(sampler_, part_, place(distance_), value_, place(to), y) : nan;
      distance_ = to;
      if (y != 0) value_ = y;
      if (!change) continue;
      const double found = direction_ * (zero - from_);
      if (!std::isnan(last_)) gap_ = found - last_;
      last_ = found;
      return found;
    }
    return nan;
  }

 private:
  double place(double distance) const { return from_ + direction_ * distance; }
  double at(double distance) { return sampler_.value(part_, place(distance)); }
  double stride() const {
    if (std::isnan(gap_)) return 0.05 * distance_;
    const double since = distance_ - last_;
    return since < 3 * gap_ ? gap_ / 8 : gap_;
  }

  Sampler& sampler_;
  const Part& part_;
  double from_;
  int direction_;
  double distance_ = 1e-3, value_, last_ = nan, gap_ = nan;
};

// Finds the zeros beyond `from`, and skips the first few.
Tail tail_beyond(Sampler& sampler, const Part& part, double from, int direction) {
  constexpr std::size_t wanted = 60, skipped = 2, fewest = 40;
  Tail out;
  out.direction = direction;
  std::vector<double> zeros;
  Walk walk(sampler, part, from, direction);
  while (zeros.size() < wanted) {
    const double zero = walk.next();
    if (std::isnan(zero)) break;
    zeros.push_back(zero);
  }
  if (zeros.size() < fewest) return out;
  out.start = from + direction * zeros[skipped];
  for (std::size_t i = skipped; i < zeros.size(); ++i) out.zeros.push_back(zeros[i] - zeros[skipped]);
  return out;
}

// Returns f for sub-ranges of the part, with distances to the part's ends.
Integrand far_out(const Part& part) {
  Integrand out;
  const auto of = [&part](const Integrand::Values& values) {
    return [&part, &values](std::span<const double> x, std::span<const double>, std::span<double> y) {
      with_distances(part.range(), x, [&](std::size_t from, auto some, auto distance) {
        values(some, distance, y.subspan(from, some.size()));
        return true;
      });
    };
  };
  out.values = of(part.f().values);
  if (part.f().errors) out.errors = of(part.f().errors);
  return out;
}

// The series of the integrals between successive cuts of the tail.
struct Series {
  Answer answer;
  std::vector<double> terms;
};

Answer stretch(Sampler& sampler, const Integrand& f, const Tail& tail, double from, double to, Pair pair,
               double rounding) {
  double a = tail.start + tail.direction * from, b = tail.start + tail.direction * to;
  if (a > b) std::swap(a, b);
  const Range range{a, b, rounding};
  const Part part(f, range, range);
  const Track track = Track::direct(part);
  return adaptive(sampler, {&track, 1}, {.relative = 1e-14}, {.pair = pair});
}

Series series_between(Sampler& sampler, const Part& part, const Tail& tail, std::span<const double> cuts,
                      Pair pair) {
  constexpr std::size_t telling = 4;  // terms whose errors matter: the limit depends little on later ones
  const Integrand f = far_out(part);
  const double rounding = part.range().rounding;
  constexpr std::size_t fewest = 10;  // terms before the limit is used
  Series out;
  Epsilon limit;
  double partial = 0, error = infinity;
  out.answer.truncation = 0;
  limit.add(partial);
  if (cuts.front() > 0) {
    out.answer = stretch(sampler, f, tail, 0, cuts.front(), pair, rounding);
    limit = {};
    limit.add(partial = out.answer.value);
  }
  out.answer.value = nan;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Answer term = stretch(sampler, f, tail, cuts[i], cuts[i + 1], pair, rounding);
    if (sampler.exhausted() || !std::isfinite(term.value)) {
      out.answer.reason = sampler.exhausted() ? sampler.cap() : term.reason;
      out.answer.where = term.where;
      out.answer.truncation = infinity;
      return out;
    }
    if (i < telling) {
      out.answer.truncation += term.truncation;
      out.answer.rounding += term.rounding;
      if (f.errors) {
        double noise[2];
        const double x[2] = {tail.start + tail.direction * (0.5 * cuts[i] + 0.5 * cuts[i + 1]),
                             tail.start + tail.direction * (0.75 * cuts[i] + 0.25 * cuts[i + 1])};
        f.errors(x, x, noise);
        out.answer.rounding += 0.5 * (noise[0] + noise[1]) * (cuts[i + 1] - cuts[i]);
      }
    }
    out.answer.magnitude += term.magnitude;
    out.terms.push_back(term.value);
    limit.add(partial += term.value);
    // Once the limit has been reached, later terms add only rounding.
    if (i < fewest || !(limit.error() < error || std::isnan(out.answer.value))) continue;
    out.answer.value = limit.limit();
    error = limit.error();
  }
  out.answer.truncation += error;
  out.answer.reason = Reason::converged;
  return out;
}

// Removes the alternating part of the series. The remainder may drift to one side, which the limit of the
// oscillation does not show. Returns a bound of the drift beyond the last term; infinite: it has no limit.
double drift_behind(std::span<const double> terms) {
  constexpr std::size_t order = 16;  // the order of the differences that remove alternating terms
  const auto mean = [&](std::size_t first) {
    double sum = 0, binomial = 1;
    for (std::size_t j = 0; j <= order; ++j) {
      sum += binomial * terms[first + j];
      binomial *= static_cast<double>(order - j) / static_cast<double>(j + 1);
    }
    return std::fabs(std::ldexp(sum, -static_cast<int>(order)));
  };
  const std::size_t last = terms.size() - 1 - order, middle = last / 2;
  const double early = mean(0), late = mean(middle), latest = mean(last);
  constexpr double telling = 1e-9, of_rounding = 32 * unit;
  if (latest <= of_rounding * std::fabs(terms.front())) return 0;
  if (!(latest > telling * std::fabs(terms.back()))) return latest * static_cast<double>(terms.size());
  // Models the drift as a power of the number of terms, which gives the part that is left.
  const double first = static_cast<double>(order) / 2, place = static_cast<double>(middle) + first,
               end = static_cast<double>(last) + first;
  const double power = std::fmin(std::log(early / late) / std::log(place / first),
                                 std::log(late / latest) / std::log(end / place));
  return power > 1.05 ? 2 * latest * end / (power - 1) : infinity;
}

// Returns the powers of log x with which the swings fall off farther and farther out, up to 1e128 times the
// last zero; empty: f has no value there. The last is infinite if they vanish. The rounding of such an x
// makes the phase random, which does not harm: the largest of many values is the swing.
std::vector<double> slopes_of_swings(Sampler& sampler, const Part& part, const Tail& tail) {
  constexpr std::size_t points = 64;
  constexpr double golden = 0.6180339887498949, share = 0.1;
  constexpr double even = 0.08;  // a power of nearly evenly spaced zeros
  const std::vector<double>& zeros = tail.zeros;
  const std::size_t end = zeros.size() - 1, middle = end / 2;
  double crowding = -std::log((zeros[end] - zeros[end - 1]) / (zeros[middle] - zeros[middle - 1])) /
                    std::log(zeros[end] / zeros[middle]);
  if (std::fabs(crowding) < even) crowding = 0;
  std::vector<double> out;
  double before = nan, at_before = 0, power_before = 0;
  for (const double power : {0, 2, 8, 16, 32, 64, 128}) {
    if (part.range().single() && power > 32) break;
    constexpr double log_of_zeros = 4;  // there are about 60
    const double at = std::log(log_of_zeros + power * std::numbers::ln10);
    double x[points], y[points], swing = 0;
    for (std::size_t i = 0; i < points; ++i)
      x[i] = tail.start + tail.direction * tail.zeros.back() * std::pow(10, power) *
                              (1 + share * std::fmod(golden * static_cast<double>(i), 1));
    if (!sampler.values(part, x, y)) break;
    for (const double value : y) swing = std::fmax(swing, std::fabs(value));
    if (std::ranges::any_of(y, [](double value) { return !std::isfinite(value); })) break;
    if (swing == 0) {
      out.push_back(infinity);
      break;
    }
    const double nearer = crowding * (power - power_before) * std::numbers::ln10;
    if (power > 0) out.push_back((std::log(before / swing) + nearer) / (at - at_before));
    before = swing;
    power_before = power;
    at_before = at;
  }
  return out;
}

// Returns converged if the terms fall off. The epsilon algorithm gives a limit even if they do not.
Reason fading(std::span<const double> terms, std::span<const double> slopes) {
  const std::size_t last = terms.size() - 1;
  for (std::size_t i = 1; i <= last; ++i)
    if ((terms[i] < 0) == (terms[i - 1] < 0) && terms[i] != 0) return Reason::unresolved;
  const auto size = [&](std::size_t i) { return std::fabs(terms[i]); };
  // A term that stands out is not part of the oscillation.
  constexpr std::size_t settled = 4;
  for (std::size_t i = settled; i <= last; ++i)
    if (size(i) > 2 * size(i - 1) && size(i) > 1e-12 * size(0)) return Reason::unresolved;
  if (size(last) < 1e-12 * size(0)) return Reason::converged;
  const double early = std::log(size(last / 4) / size(last / 2)),
               late = std::log(size(last / 2) / size(last));
  if (late < 1e-6) return Reason::diverges;
  if (slopes.empty()) return late < 0.1 && late < 0.75 * early ? Reason::may_diverge : Reason::converged;
  // A power that weakens leads to swings that do not vanish, as in (1+x^-0.1)·sin(x). 1/log(x) keeps its own.
  const double before = slopes.size() > 1 ? slopes[slopes.size() - 2] : slopes.back();
  return slopes.back() > 0.8 * std::fmax(before, 0.05) ? Reason::converged : Reason::may_diverge;
}

// Judges the limit of the series by its terms.
void judge(Series& series, Sampler& sampler, const Part& part, const Tail& tail) {
  Answer& answer = series.answer;
  if (answer.reason != Reason::converged) return;
  answer.reason = fading(series.terms, slopes_of_swings(sampler, part, tail));
  const double drift = drift_behind(series.terms);
  if (std::isinf(drift) && answer.reason == Reason::converged) answer.reason = Reason::may_diverge;
  answer.truncation += drift;
  if (answer.reason == Reason::converged) return;
  answer.where = tail.direction * infinity;
  answer.truncation = infinity;
  if (answer.without_limit()) answer.value = nan;
}

}  // namespace

Tail find_tail(Sampler& sampler, const Part& part) {
  const Range& range = part.range();
  if (std::isinf(range.lower) == std::isinf(range.upper)) return {};
  return std::isinf(range.upper) ? tail_beyond(sampler, part, range.lower, 1)
                                 : tail_beyond(sampler, part, range.upper, -1);
}

Answer integrate_tail(Sampler& sampler, const Part& part, const Tail& tail) {
  Series zeros = series_between(sampler, part, tail, tail.zeros, Pair::k21);
  judge(zeros, sampler, part, tail);
  Answer out = zeros.answer;
  out.rule = "epsilon";
  if (!out.converged()) return out;
  std::vector<double> middles;
  for (std::size_t i = 0; i + 1 < tail.zeros.size(); ++i)
    middles.push_back(0.5 * (tail.zeros[i] + tail.zeros[i + 1]));
  const Series other = series_between(sampler, part, tail, middles, Pair::k15);
  const double apart = std::fabs(out.value - other.answer.value);
  out.truncation = other.answer.converged() ? std::fmax(out.truncation, apart) : infinity;
  if (sampler.exhausted()) out.reason = sampler.cap();
  return out;
}

namespace {

// Sets the tail's gap to the distance of the peaks of f, and its start behind some of them; false: there are
// none, or their distances change.
bool find_peaks(Sampler& sampler, const Part& part, Tail& tail) {
  constexpr int wanted = 40, most_steps = 4000;
  const bool above = std::isinf(part.range().upper);
  const double from = above ? part.range().lower : part.range().upper;
  tail.direction = above ? 1 : -1;
  double distance = 1e-3, last = nan, before = nan;
  std::vector<double> peaks;
  for (int step = 0; step < most_steps && peaks.size() < wanted; ++step) {
    const std::size_t n = peaks.size();
    const double stride = n < 2 ? 0.05 * distance : (peaks[n - 1] - peaks[n - 2]) / 16;
    const double y = sampler.value(part, from + tail.direction * (distance + stride));
    if (last > before && last >= y) peaks.push_back(distance);
    before = std::exchange(last, y);
    distance += stride;
  }
  if (peaks.size() < wanted) return false;
  tail.start = from + tail.direction * distance;
  tail.gap = (peaks[wanted - 1] - peaks[wanted - 11]) / 10;
  const double earlier = (peaks[wanted - 11] - peaks[wanted - 21]) / 10;
  return std::fabs(tail.gap - earlier) < 0.03 * tail.gap;
}

}  // namespace

Answer integrate_periodic_tail(Sampler& sampler, const Part& part, Tail& tail) {
  Answer out;
  if (!find_peaks(sampler, part, tail)) return tail.start = nan, out;
  // ((1+S)(1+S²)/4)^8, where S shifts by a quarter of the period, removes waves whose periods are the whole,
  // and a half, a third … of it, but for every fourth. The part that the shifts move out of the tail is added
  // again.
  std::vector<double> weights{1};
  for (const std::size_t shift : {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}) {
    weights.resize(weights.size() + shift);
    for (std::size_t k = weights.size(); k-- > 0;)
      weights[k] = 0.5 * (weights[k] + (k >= shift ? weights[k - shift] : 0));
  }
  const double step = tail.gap / 4;
  const Integrand f = far_out(part);
  const Integrand means{[&](std::span<const double> x, std::span<const double>, std::span<double> y) {
    std::vector<double> moved(x.size()), values(x.size());
    std::ranges::fill(y, 0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      for (std::size_t i = 0; i < x.size(); ++i)
        moved[i] = x[i] + tail.direction * step * static_cast<double>(k);
      if (!sampler.values(f, moved, moved, values)) std::ranges::fill(values, nan);
      for (std::size_t i = 0; i < x.size(); ++i) y[i] += weights[k] * values[i];
    }
  }};
  const auto with_means_from = [&](double distance) {  // from the start of the tail
    const double from = tail.start + tail.direction * distance, end = tail.direction * infinity;
    const Range range{std::fmin(from, end), std::fmax(from, end), part.range().rounding};
    const Part whole(means, range, range);
    Sampler of_means(sampler.limits());  // `sampler` counts the evaluations of f
    TanhSinh rule(of_means, whole);
    Answer sum = refine({&rule, 1}, {.relative = 1e-13}, 3, 7);
    double weight = 1, before = 0;
    for (std::size_t k = 0; k < weights.size() && sum.converged(); ++k) {
      const double to = distance + step * static_cast<double>(k);
      const Answer piece = stretch(sampler, f, tail, before, to, Pair::k21, range.rounding);
      if (to > before) {
        sum.value += weight * piece.value;
        sum.truncation += piece.truncation;
        sum.rounding += piece.rounding;
        sum.magnitude += weight * piece.magnitude;
      }
      weight -= weights[k];
      before = to;
    }
    return sum;
  };
  out = with_means_from(0);
  const Answer other = with_means_from(0.3 * step);
  out.truncation =
      other.converged() ? std::fmax(out.truncation, std::fabs(out.value - other.value)) : infinity;
  out.rule = "means over a period";
  // Far out the phase is lost to the rounding of x.
  out.rounding += 256 * unit * out.magnitude;
  if (out.converged() && std::isinf(out.truncation)) out.reason = Reason::unresolved;
  return out;
}

Answer oscillatory(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
                   std::span<const double> points) {
  if (std::isinf(range.lower) == std::isinf(range.upper))
    throw Error("the rule for oscillating tails takes a range with one infinite limit");
  Sampler sampler(limits);
  std::vector<Range> ranges = cut(range, points);
  const bool above = std::isinf(range.upper);
  Range& last = above ? ranges.back() : ranges.front();
  const Part outer(f, range, last);
  const Tail tail = find_tail(sampler, outer);
  Answer out;
  out.rule = "epsilon";
  const auto stop = [&](Reason reason, const char* why) {
    out.reason = reason;
    out.why = why;
    out.evaluations = sampler.evaluations();
    return out;
  };
  if (sampler.exhausted()) return stop(sampler.cap(), "");
  if (tail.zeros.empty()) return stop(Reason::unresolved, "the tail does not oscillate");
  Series series = series_between(sampler, outer, tail, tail.zeros, Pair::k21);
  judge(series, sampler, outer, tail);
  out = series.answer;
  out.rule = "epsilon";
  if (!out.converged()) return stop(out.reason, "");
  (above ? last.upper : last.lower) = tail.start;
  std::vector<Part> parts;
  for (const Range& part : ranges) parts.emplace_back(f, range, part);
  std::vector<TanhSinh> rules;
  rules.reserve(parts.size());
  for (const Part& part : parts) rules.emplace_back(sampler, part);
  out = refine(rules, tolerance, 2, deepest_level - 1, out);
  out.rule = "epsilon";
  out.evaluations = sampler.evaluations();
  return out;
}

}  // namespace tessera::quadrature
