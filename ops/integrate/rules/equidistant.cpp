// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/equidistant.hpp"
#include <algorithm>
#include "ops/integrate/rules/sensitivity.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

// An exponent near a multiple of 1/2 is that multiple: rounding and later terms blur the last digits.
double snapped(double p) {
  const double near = std::round(2 * p) / 2;
  return std::fabs(p - near) < 0.05 ? near : p;
}

struct Elimination {
  double value = nothing, error = infinity, first = nothing;
};

// Takes one power of h after another from the sums, each as the remaining sums show it.
Elimination eliminate(std::vector<double> column) {
  Elimination out;
  if (column.size() < 4) return out;
  out.value = column.back();
  const auto apart = [](const std::vector<double>& c, std::size_t i) { return std::fabs(c[i] - c[i - 1]); };
  out.error = std::fmax(apart(column, column.size() - 1), apart(column, column.size() - 2) / 64);
  while (column.size() >= 4) {
    const std::size_t n = column.size();
    double p = exponent(column[n - 3], column[n - 2], column[n - 1]);
    const double earlier = exponent(column[n - 4], column[n - 3], column[n - 2]);
    if (std::isnan(p) || !(std::fabs(p - earlier) < 0.02 * p) || p < 0.05) break;
    p = snapped(p);
    if (std::isnan(out.first)) out.first = p;
    const double factor = std::exp2(p) - 1;
    std::vector<double> next;
    for (std::size_t i = 1; i < n; ++i) next.push_back(column[i] + (column[i] - column[i - 1]) / factor);
    // Two entries may agree by chance: none is trusted far beyond what the elimination itself moved.
    const double error = std::max({apart(next, next.size() - 1), apart(next, next.size() - 2) / 64,
                                   0.02 * std::fabs(next.back() - column.back())});
    if (!(error < out.error)) break;
    out.value = next.back();
    out.error = error;
    column = std::move(next);
  }
  return out;
}

Answer stopped(const Sampler& sampler, const Trapezoid& sums, Answer out) {
  out.reason = sampler.exhausted() ? sampler.cap() : Reason::non_finite;
  out.where = sampler.exhausted() ? nothing : sums.where();
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
  while (sums.sums().size() < most) {
    if (!sums.refine()) return stopped(sampler, sums, out);
    if (sums.sums().size() < fewest) continue;
    const Elimination found = estimate(sums.sums());
    out.value = found.value;
    out.truncation = found.error;
    out.exponent = found.first;
    out.magnitude = sums.one_sign() ? std::fabs(out.value) : sums.magnitude();
    const double strips = std::exp2(static_cast<double>(sums.sums().size() - 1));
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
  return halve(f, range, tolerance, limits, "richardson",
               [](const std::vector<double>& sums) { return eliminate(sums); });
}

Answer simpson(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits) {
  return halve(f, range, tolerance, limits, "simpson", [](const std::vector<double>& sums) {
    const std::size_t n = sums.size();
    const auto value = [&](std::size_t i) { return sums[i] + (sums[i] - sums[i - 1]) / 3; };
    Elimination out{value(n - 1), std::fabs(value(n - 1) - value(n - 2)), nothing};
    out.first = exponent(value(n - 3), value(n - 2), value(n - 1));
    // Where the error does not fall as h^4, two sums may agree by chance; four seldom do.
    if (!(out.first > 3.5))
      out.error = std::max(
          {out.error, std::fabs(value(n - 2) - value(n - 3)), std::fabs(value(n - 3) - value(n - 4))});
    return out;
  });
}

}  // namespace tessera::quadrature
