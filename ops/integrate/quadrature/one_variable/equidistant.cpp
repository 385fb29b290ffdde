// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/one_variable/equidistant.hpp"
#include <fmt/format.h>
#include <algorithm>
#include "ops/integrate/quadrature/norm.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::quadrature {
namespace {

// Trapezoid sums of a finite range, whose strips are halved; only new points are evaluated. An end without a
// finite value counts as 0, which changes the exponent, not the limit.
class Trapezoids {
 public:
  Trapezoids(Sampler& sampler, const Part& part) : sampler_(sampler), part_(part) {}

  bool refine();  // halves the strips; false: a cap, or a value that is not finite
  const std::vector<double>& sums() const { return sums_; }  // with 1, 2, 4 … strips
  double magnitude() const { return step_ * magnitude_; }
  double abscissa_error() const { return 8 * step_ * moved_; }  // in units of the last place
  double where() const { return where_; }

 private:
  Sampler& sampler_;
  const Part& part_;
  std::vector<double> sums_;
  double sum_ = 0, carry_ = 0, magnitude_ = 0, moved_ = 0, step_ = 0, where_ = nan;
  std::int64_t strips_ = 0;
};

bool Trapezoids::refine() {
  constexpr std::int64_t chunk = 256;
  const Range& range = part_.range();
  const double length = range.upper - range.lower;
  double x[chunk] = {range.lower, range.upper}, y[chunk], slope[chunk];
  if (strips_ == 0) {
    strips_ = 1;
    if (!sampler_.values(part_, {x, 2}, {y, 2})) return false;
    for (const double value : {y[0], y[1]})
      if (std::isfinite(value)) {
        sum_ += value / 2;
        magnitude_ += std::fabs(value) / 2;
      }
  } else {
    strips_ *= 2;
    for (std::int64_t done = 0; done < strips_ / 2; done += chunk) {
      const auto n = static_cast<std::size_t>(std::min(chunk, strips_ / 2 - done));
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t index = 1 + 2 * (done + static_cast<std::int64_t>(i));
        x[i] = range.lower + length * (static_cast<double>(index) / static_cast<double>(strips_));
      }
      if (!sampler_.values(part_, {x, n}, {y, n})) return false;
      for (std::size_t i = 0; i < n; ++i) {
        if (!std::isfinite(y[i])) {
          where_ = x[i];
          return false;
        }
        const double term = y[i] - carry_, next = sum_ + term;
        carry_ = (next - sum_) - term;
        sum_ = next;
        magnitude_ += std::fabs(y[i]);
        slope[i] = i == 0 ? 0 : (y[i] - y[i - 1]) / (x[i] - x[i - 1]) * x[i];
      }
      moved_ = std::hypot(moved_, norm(std::span(slope, n)));
    }
  }
  step_ = length / static_cast<double>(strips_);
  sums_.push_back(step_ * sum_);
  return true;
}

// Returns the exponent p of an error that falls as h^p, from three sums of halved steps; NaN: unknown.
double exponent(double coarse, double middle, double fine) {
  const double ratio = (middle - coarse) / (fine - middle);
  if (!(ratio > 0) || std::isinf(ratio)) return nan;
  if (std::fabs(fine - middle) < 64 * unit * std::fabs(fine)) return nan;  // rounding
  return std::log2(ratio);
}

// Rounds an exponent to a multiple of 1/2 nearby, because later terms perturb its last digits.
double snapped(double p, double moved) {
  const double near = std::round(2 * p) / 2;
  return std::fabs(p - near) < std::fmin(0.05, 8 * moved + 1e-6) ? near : p;
}

// Returns the error estimate of the last sum. If the differences of the sums hardly shrink, it includes the
// differences of all further sums.
double remaining_error(const std::vector<double>& sums) {
  const std::size_t n = sums.size();
  const double last = std::fabs(sums[n - 1] - sums[n - 2]), before = std::fabs(sums[n - 2] - sums[n - 3]);
  if (!(before > 0)) return last;
  const double ratio = std::fmax(last / before, 0.25);
  return ratio < 1 ? std::fmax(last, before / 3) * std::fmax(1, 1.2 * ratio / (1 - ratio)) : infinity;
}

struct Estimate {
  double value = nan, error = infinity, exponent = nan;
};

// Eliminates one power of h after another; each exponent is estimated from the remaining sums.
Estimate richardson_estimate(std::vector<double> column) {
  Estimate out{column.back(), remaining_error(column), nan};
  while (column.size() >= 5) {
    const std::size_t n = column.size();
    double p = exponent(column[n - 3], column[n - 2], column[n - 1]);
    const double earlier = exponent(column[n - 4], column[n - 3], column[n - 2]);
    if (std::isnan(p) || !(std::fabs(p - earlier) < 0.02 * p) || p < 0.05) break;
    // A wrong exponent, such as 1 for 1.04, leaves a share of the eliminated amount as an error.
    const double moved_power = std::fabs(p - earlier);
    p = snapped(p, moved_power);
    if (std::isnan(out.exponent)) out.exponent = p;
    std::vector<double> next;
    for (std::size_t i = 1; i < n; ++i)
      next.push_back(column[i] + (column[i] - column[i - 1]) / (std::exp2(p) - 1));
    const double taken = std::fabs(next.back() - column.back());
    const double error =
        std::fmax(remaining_error(next), std::fmax(0.03, 4 * static_cast<double>(n) * moved_power) * taken);
    if (!(error < out.error)) break;
    out.value = next.back();
    out.error = error;
    column = std::move(next);
  }
  return out;
}

// Computes Simpson's rule from the trapezoid sums.
Estimate simpson_estimate(const std::vector<double>& sums) {
  std::vector<double> column;
  for (std::size_t i = 1; i < sums.size(); ++i) column.push_back(sums[i] + (sums[i] - sums[i - 1]) / 3);
  const std::size_t n = column.size();
  return {column.back(), remaining_error(column), exponent(column[n - 3], column[n - 2], column[n - 1])};
}

// Halves the strips until the estimate meets the tolerance.
template <class Estimated>
Answer halve(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
             const char* rule, const Estimated& estimated) {
  constexpr std::size_t fewest = 8, most = 28;  // sums
  Answer out;
  out.rule = rule;
  if (!range.finite()) throw Error(std::string(rule) + " needs finite limits");
  Sampler sampler(limits);
  const Part part(f, range, range);
  Trapezoids sums(sampler, part);
  while (sums.sums().size() < most) {
    if (!sums.refine()) {
      out.reason = sampler.exhausted() ? sampler.cap() : Reason::non_finite;
      out.where = sampler.exhausted() ? nan : sums.where();
      break;
    }
    if (sums.sums().size() < fewest) continue;
    const Estimate found = estimated(sums.sums());
    out.value = found.value;
    out.truncation = found.error;
    out.exponent = found.exponent;
    out.magnitude = sums.magnitude();
    out.rounding = 4 * unit * out.magnitude + range.rounding * sums.abscissa_error();
    const double allowed = tolerance.of(out.value);
    out.reason = out.error() <= allowed   ? Reason::converged
                 : out.rounding > allowed ? Reason::roundoff
                                          : Reason::unresolved;
    if (out.reason != Reason::unresolved) break;
  }
  out.evaluations = sampler.evaluations();
  return out;
}

void check(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw Error(fmt::format("{} abscissae, but {} values", x.size(), y.size()));
  if (x.size() < 2) throw Error("an integral of samples needs two of them at least");
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) throw Error(fmt::format("abscissa {} of the samples is not finite", i));
    if (i > 0 && !(x[i - 1] < x[i]))
      throw Error(fmt::format("abscissa {} of the samples is not above the one before", i));
  }
}

using Sum = double (*)(std::span<const double>, std::span<const double>);

double trapezoids(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 1; i < x.size(); ++i) sum += 0.5 * (x[i] - x[i - 1]) * (y[i] + y[i - 1]);
  return sum;
}

// Returns the integral of the parabola through three samples, from x0 to x2.
double parabola(const double* x, const double* y) {
  const double h0 = x[1] - x[0], h1 = x[2] - x[1], h = h0 + h1;
  return h / 6 * ((2 - h1 / h0) * y[0] + h * h / (h0 * h1) * y[1] + (2 - h0 / h1) * y[2]);
}

// Returns the integral over the last strip of the parabola through three samples.
double last_strip(const double* x, const double* y) {
  const double h0 = x[1] - x[0], h1 = x[2] - x[1];
  return y[2] * (2 * h1 * h1 + 3 * h0 * h1) / (6 * (h0 + h1)) + y[1] * (h1 * h1 + 3 * h1 * h0) / (6 * h0) -
         y[0] * h1 * h1 * h1 / (6 * h0 * (h0 + h1));
}

double parabolas(std::span<const double> x, std::span<const double> y) {
  if (x.size() == 2) return trapezoids(x, y);
  double sum = 0;
  std::size_t i = 0;
  for (; i + 2 < x.size(); i += 2) sum += parabola(&x[i], &y[i]);
  if (i + 1 < x.size()) sum += last_strip(&x[i - 1], &y[i - 1]);
  return sum;
}

// Keeps every second sample, and the last.
void thin(std::span<const double> x, std::span<const double> y, std::vector<double>& fewer_x,
          std::vector<double>& fewer_y) {
  for (std::size_t i = 0; i < x.size(); i += 2) {
    fewer_x.push_back(x[i]);
    fewer_y.push_back(y[i]);
  }
  if (x.size() % 2 == 0) {
    fewer_x.push_back(x.back());
    fewer_y.push_back(y.back());
  }
}

Answer of_samples(std::span<const double> x, std::span<const double> y, const char* rule, Sum sum) {
  Answer out;
  out.rule = rule;
  out.value = sum(x, y);
  out.evaluations = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!std::isfinite(y[i])) {
      out.reason = Reason::non_finite;
      out.where = x[i];
      return out;
    }
  std::vector<double> sizes(y.begin(), y.end());
  for (double& value : sizes) value = std::fabs(value);
  out.magnitude = trapezoids(x, sizes);
  out.rounding = unit * static_cast<double>(x.size()) * out.magnitude;
  const auto [least, most] = std::minmax_element(y.begin(), y.end());
  if (*least >= 0 || *most <= 0) out.magnitude = std::fabs(out.value);
  if (x.size() < 3) return out;  // no sample can be left out
  std::vector<double> fewer_x, fewer_y;
  thin(x, y, fewer_x, fewer_y);
  out.truncation = std::fabs(out.value - sum(fewer_x, fewer_y));
  return out;
}

Answer integral(std::span<const double> x, std::span<const double> y, const char* rule, Sum sum) {
  check(x, y);
  Answer out = of_samples(x, y, rule, sum);
  if (out.reason == Reason::unresolved) judge_size(out);
  return out;
}

}  // namespace

Answer trapezoid(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits) {
  return halve(f, range, tolerance, limits, "richardson", richardson_estimate);
}

Answer simpson(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits) {
  return halve(f, range, tolerance, limits, "simpson", simpson_estimate);
}

Answer trapezoid_of(std::span<const double> x, std::span<const double> y) {
  return integral(x, y, "trapezoid", trapezoids);
}

Answer simpson_of(std::span<const double> x, std::span<const double> y) {
  return integral(x, y, "simpson", parabolas);
}

}  // namespace tessera::quadrature
