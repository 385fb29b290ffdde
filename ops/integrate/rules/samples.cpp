// SPDX-License-Identifier: Apache-2.0
// Integrals of tables: nothing can be asked for again, so the error is what leaving samples out shows.
#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include "ops/integrate/rules/equidistant.hpp"
#include "ops/integrate/rules/extremes.hpp"
#include "tessera/core/error.hpp"

namespace tessera::quadrature {
namespace {

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

// The parabola through three samples, from x0 to x2.
double parabola(const double* x, const double* y) {
  const double h0 = x[1] - x[0], h1 = x[2] - x[1], h = h0 + h1;
  return h / 6 * ((2 - h1 / h0) * y[0] + h * h / (h0 * h1) * y[1] + (2 - h0 / h1) * y[2]);
}

// The last strip of a parabola through three samples.
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

// Every second sample, and the last.
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

// Divides the abscissae by 2^excess, which is exact, where squares of their distances would be no numbers.
int draw_together(std::vector<double>& x) {
  constexpr int harmless = 400;
  const int excess = std::ilogb(std::fmax(std::fabs(x.front()), std::fabs(x.back())));
  if (std::abs(excess) <= harmless) return 0;
  for (double& at : x) at = std::ldexp(at, -excess);
  return excess;
}

Answer of_drawn_together(std::span<const double> x, std::span<const double> y, const char* rule, Sum sum) {
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
  if (x.size() < 3) return out;  // none can be left out
  std::vector<double> fewer_x, fewer_y;
  thin(x, y, fewer_x, fewer_y);
  out.truncation = std::fabs(out.value - sum(fewer_x, fewer_y));
  return out;
}

Answer integral(std::span<const double> x, std::span<const double> y, const char* rule, Sum sum) {
  check(x, y);
  std::vector<double> near(x.begin(), x.end());
  const int excess = draw_together(near);
  Answer out = of_drawn_together(near, y, rule, sum);
  if (excess != 0) scale_back(out, excess);
  if (excess != 0 && !std::isnan(out.where)) out.where = std::ldexp(out.where, excess);
  // Of two distances one is so small beside the other that their quotient is no number, nor is the sum.
  if (!std::isfinite(out.value) && out.reason == Reason::unresolved) {
    out.reason = Reason::too_large;
    out.truncation = infinity;
    out.rounding = 0;
  }
  return out;
}

}  // namespace

Answer trapezoid_of(std::span<const double> x, std::span<const double> y) {
  return integral(x, y, "trapezoid", trapezoids);
}
Answer simpson_of(std::span<const double> x, std::span<const double> y) {
  return integral(x, y, "simpson", parabolas);
}

}  // namespace tessera::quadrature
