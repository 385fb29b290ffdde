// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/equidistant.hpp"
#include <algorithm>
#include "ops/integrate/rules/fading.hpp"
#include "ops/integrate/rules/sensitivity.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

// An exponent near a multiple of 1/2 that still moves is that multiple: rounding and later terms blur the
// last digits. One that stays where it is, such as 1.04, is none.
double snapped(double p, double moved) {
  const double near = std::round(2 * p) / 2;
  return std::fabs(p - near) < std::fmin(0.05, 8 * moved + 1e-6) ? near : p;
}

struct Elimination {
  double value = nothing, error = infinity, first = nothing;
};

// How far the last of these sums is off, each of which has twice the strips of the one before. Where they
// move by less and less from one to the next, all that further ones would move is an error, too; where they
// move as they like, several must have moved little.
double told(const std::vector<double>& sums) {
  const std::size_t n = sums.size();
  const auto moved = [&](std::size_t k) { return std::fabs(sums[n - k] - sums[n - k - 1]); };
  double most = std::max({moved(1), moved(2) / 3, n > 3 ? moved(3) / 9 : 0});
  if (!(most > 64 * unit * std::fabs(sums.back()))) return std::fmax(most, moved(2));
  double fall = std::log(std::fmax(moved(2), moved(1)) / moved(1)), before = fall;
  if (n > 3) {
    before = std::log(moved(3) / moved(2));
    const bool steady = std::fabs(fall - before) < 0.25 * fall;
    if (steady) most = moved(1);
    else if (n > 4)
      fall = before = std::log(std::fmax(moved(4), moved(3)) / std::fmax(moved(2), moved(1))) / 2;
  }
  const double left = lasting_slope(before, fall, 1);
  return left > 0 ? most * std::fmax(1, 1.2 / std::expm1(left)) : infinity;
}

// How far the power that the sums show is off: one that a logarithm changes goes on to change like 1/n.
double drift_of(const std::vector<double>& sums) {
  std::vector<double> powers;
  for (std::size_t i = 2; i < sums.size(); ++i) powers.push_back(exponent(sums[i - 2], sums[i - 1], sums[i]));
  const std::size_t n = powers.size();
  const double drift = static_cast<double>(n) * std::fabs(powers[n - 1] - powers[n - 2]);
  return n < 3 ? drift : std::fmin(drift, told(powers));
}

// Takes one power of h after another from the sums, each as the remaining sums show it.
Elimination eliminate(std::vector<double> column) {
  Elimination out;
  if (column.size() < 4) return out;
  out.value = column.back();
  out.error = told(column);
  while (column.size() >= 4) {
    const std::size_t n = column.size();
    double p = exponent(column[n - 3], column[n - 2], column[n - 1]);
    const double earlier = exponent(column[n - 4], column[n - 3], column[n - 2]);
    if (std::isnan(p) || !(std::fabs(p - earlier) < 0.02 * p) || p < 0.05) break;
    const double factor_then = std::exp2(p - drift_of(column)) - 1;
    const double near = snapped(p, std::fabs(p - earlier)), as_seen = std::exp2(p) - 1;
    const bool fitted = near == p;
    p = near;
    if (std::isnan(out.first)) out.first = p;
    const double factor = std::exp2(p) - 1;
    std::vector<double> next;
    for (std::size_t i = 1; i < n; ++i) next.push_back(column[i] + (column[i] - column[i - 1]) / factor);
    // Two entries may agree by chance: none is trusted far beyond what the elimination itself moved. Those
    // that the power was fitted to agree anyway.
    const double moved = std::fabs(next.back() - column.back());
    const double seen = fitted ? factor_then : as_seen;  // x^-0.48 leaves h^0.52, which is not h^0.5
    const double wrong = seen > 0 ? std::fabs(1 - factor / seen) : infinity;
    const double error = std::fmax(told(next), std::fmax(0.03, wrong) * moved);
    if (!(error < out.error)) break;
    out.value = next.back();
    out.error = error;
    column = std::move(next);
  }
  return out;
}

// Simpson's rule from the trapezoid's sums.
Elimination thirds(const std::vector<double>& sums) {
  std::vector<double> column;
  for (std::size_t i = 1; i < sums.size(); ++i) column.push_back(sums[i] + (sums[i] - sums[i - 1]) / 3);
  const std::size_t n = column.size();
  Elimination out{column[n - 1], std::fabs(column[n - 1] - column[n - 2]),
                  exponent(column[n - 3], column[n - 2], column[n - 1])};
  const double earlier = exponent(column[n - 4], column[n - 3], column[n - 2]);
  if (!(out.first > 3.5 && earlier > 3.5)) out.error = std::fmax(out.error, told(column));
  return out;
}

Answer stopped(const Sampler& sampler, const Trapezoid& sums, Answer out) {
  out.reason = sampler.exhausted() ? sampler.cap() : Reason::non_finite;
  out.where = sampler.exhausted() ? nothing : sums.where();
  return out;
}

// Strips that a break lies within are off by what f does there, and sums of other strips may be so alike.
double lost_at_breaks(Sampler& sampler, const std::vector<double>& breaks, double strip) {
  const Range& range = sampler.range();
  double out = 0;
  for (const double at : breaks) {
    const double away = std::min({strip, at - range.lower, range.upper - at});
    const double x[5] = {at - away, at - away / 1024, at, at + away / 1024, at + away};
    if (!(x[0] < x[1] && x[3] < x[4])) continue;
    double y[5];
    if (!sampler(x, y)) return infinity;
    const double bend = std::fabs(y[4] - y[2] - (y[2] - y[0])), jump = std::fabs(y[3] - y[1]);
    const double place = (at - range.lower) / (4 * strip);
    // A kink between strips of every sum harms none.
    if (jump < bend / 100 && std::fabs(place - std::round(place)) < 1e-9) continue;
    out += 4 * strip * (std::isfinite(bend) ? bend : std::fabs(y[0]) + std::fabs(y[4]));
  }
  return out;
}

// Halves the strips until `estimate` of the sums meets the tolerance.
template <class Estimate>
Answer halve(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
             const char* rule, Estimate estimate) {
  constexpr std::size_t fewest = 6, most = 28;
  Answer out;
  out.rule = rule;
  if (!range.finite()) throw Error(std::string(rule) + " needs finite limits");
  Sampler sampler(f, range, limits);
  const Slopes slopes = slopes_of(sampler);
  Trapezoid sums(sampler);
  const double length = range.upper - range.lower;
  const std::vector<double> breaks = f.features ? f.features(range).breaks : std::vector<double>{};
  while (sums.sums().size() < most) {
    if (!sums.refine()) return stopped(sampler, sums, out);
    if (sums.sums().size() < fewest) continue;
    const Elimination found = estimate(sums.sums());
    out.value = found.value;
    const double strips = std::exp2(static_cast<double>(sums.sums().size() - 1));
    out.truncation = found.error + lost_at_breaks(sampler, breaks, length / strips);
    out.exponent = found.first;
    out.magnitude = sums.one_sign() ? std::fabs(out.value) : sums.magnitude();
    out.rounding = unit * (4 * out.magnitude + slopes.spoil(length, strips));
    out.evaluations = sampler.evaluations();
    const double allowed = tolerance.of(out.value);
    out.reason = Reason::converged;
    // Sums agree, too, where f swings in step with the strips.
    if (!(slopes.slope * length <= slopes.size * strips)) continue;
    if (out.error() <= allowed) return out;
    out.reason = Reason::roundoff;
    if (out.rounding > allowed) return out;
  }
  out.reason = Reason::unresolved;
  return out;
}

}  // namespace

bool Trapezoid::add(std::int64_t first, std::int64_t stride, std::int64_t count) {
  constexpr std::int64_t chunk = 256;
  const Range& range = sampler_.range();
  const double length = range.upper - range.lower;
  double x[chunk], y[chunk];
  for (std::int64_t done = 0; done < count; done += chunk) {
    const auto n = static_cast<std::size_t>(std::min(chunk, count - done));
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t index = first + stride * (done + static_cast<std::int64_t>(i));
      x[i] = range.lower + length * (static_cast<double>(index) / static_cast<double>(strips_));
    }
    if (!sampler_({x, n}, {y, n})) return false;
    for (std::size_t i = 0; i < n; ++i) {
      if (!std::isfinite(y[i])) {
        where_ = x[i];
        return false;
      }
      const double term = y[i] - carry_, next = sum_ + term;
      carry_ = (next - sum_) - term;
      sum_ = next;
      magnitude_ += std::fabs(y[i]);
      above_ |= y[i] > 0;
      below_ |= y[i] < 0;
    }
  }
  return true;
}

bool Trapezoid::refine() {
  const Range& range = sampler_.range();
  if (strips_ == 0) {
    strips_ = 1;
    double x[2] = {range.lower, range.upper}, y[2];
    if (!sampler_({x, 2}, {y, 2})) return false;
    for (const double value : y)
      if (std::isfinite(value)) {
        sum_ += value / 2;
        magnitude_ += std::fabs(value) / 2;
        above_ |= value > 0;
        below_ |= value < 0;
      }
  } else {
    strips_ *= 2;
    if (!add(1, 2, strips_ / 2)) return false;
  }
  step_ = (range.upper - range.lower) / static_cast<double>(strips_);
  sums_.push_back(step_ * sum_);
  return true;
}

double exponent(double coarse, double middle, double fine) {
  const double ratio = (middle - coarse) / (fine - middle);
  if (!(ratio > 0) || std::isinf(ratio)) return nothing;
  if (std::fabs(fine - middle) < 64 * unit * std::fabs(fine)) return nothing;  // rounding
  return std::log2(ratio);
}

Answer trapezoid(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits) {
  return halve(f, range, tolerance, limits, "richardson", eliminate);
}

Answer simpson(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits) {
  return halve(f, range, tolerance, limits, "simpson", thirds);
}

}  // namespace tessera::quadrature
