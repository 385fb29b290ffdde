// SPDX-License-Identifier: Apache-2.0
#include "far_tail.hpp"
#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <span>
#include "bounded.hpp"
#include "ops/integrate/rules/sobol.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {
namespace {

using quadrature::Range;

// The formula in long double, whose largest number is 1e4932.
class Wide {
 public:
  Wide(const formula::Tree& tree, const std::string& variable)
      : program_(formula::compile<double>(tree, {variable})) {}
  long double operator()(long double x) const { return bounded(program_, Bounded{x, 0}).value; }
  // x·f(x), of which a tail's integral over log(x) is made.
  long double height(long double x) const { return std::fabs(x * (*this)(x)); }
  // Of many places from x to 2x: what swings without a change of sign has other heights from one to the next.
  long double mean_height(long double x) const {
    long double sum = 0;
    for (int i = 0; i < places; ++i) sum += height(x * (1 + i / (places + 0.618034L)));
    return sum / places;
  }
  bool swings(long double x) const {
    bool above = false, below = false;
    for (int i = 0; i < places; ++i) {
      const long double y = (*this)(x * (1 + i / static_cast<long double>(places)));
      above = above || y > 0;
      below = below || y < 0;
    }
    return above && below;
  }

 private:
  static constexpr int places = 16;
  formula::Program<double> program_;
};

// The tail that begins between x/2 and x. It falls like a power of x, which heights here and there tell.
HiddenTail tail_at(const Wide& wide, double x) {
  constexpr int doublings = 8;
  constexpr long double least_power = 1e-6L;
  const long double before = wide.height(x / 2), there = wide.mean_height(x),
                    beyond = wide.mean_height(x * 256.0L);
  HiddenTail out{x, 0};
  if (!(wide.height(x) > 0)) return out;  // log(x) at 1, say
  // What is 0 for being small is no overflow's.
  const bool small = there / std::fabs(x) < std::numeric_limits<double>::denorm_min();
  if (!(there > 0) || small || !std::isfinite(there) || wide.swings(x)) return out;
  const long double power = beyond > 0 ? std::log2(there / beyond) / doublings : 1000.0L;
  const long double most = std::isfinite(before) ? std::fmax(before, there) : there;
  out.mass = power > least_power ? static_cast<double>(2 * most / power) : quadrature::infinity;
  return out;
}

// On the side of `sign`, as far as numbers go: there f is looked at where x doubles.
HiddenTail hidden_on(const Wide& wide, const quadrature::Integrand& f, const Range& range, double sign) {
  constexpr int all = 1023, close = 4, apart = 64;
  std::vector<double> x, distance;
  for (int k = 0; k < all; ++k) {
    const double at = sign * std::ldexp(1.0, k);
    if (!(range.lower < at && at < range.upper)) continue;
    x.push_back(at);
    distance.push_back(range.distance(at));
  }
  std::vector<double> y(x.size());
  f.values(x, distance, y);
  int zeros = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (y[i] != 0 && std::isfinite(y[i])) {
      zeros = 0;
      continue;
    }
    // Most are 0 from there on because they are.
    if (++zeros > close && zeros % apart != 0) continue;
    const HiddenTail found = tail_at(wide, x[i]);
    if (found.mass > 0) return found;
  }
  return {};
}

}  // namespace

HiddenTail hidden_tail(const formula::Tree& tree, const std::string& variable, const quadrature::Integrand& f,
                       const Range& range) {
  HiddenTail out;
  const Wide wide(tree, variable);
  for (const double sign : {1.0, -1.0}) {
    if (std::isfinite(sign > 0 ? range.upper : range.lower)) continue;
    const HiddenTail found = hidden_on(wide, f, range, sign);
    if (found.mass > out.mass) out.from = found.from;
    out.mass += found.mass;
  }
  return out;
}

void charge_hidden_tails(quadrature::Answer& answer, const formula::Tree& tree, const std::string& variable,
                         const quadrature::Integrand& f, const quadrature::Range& range,
                         const quadrature::Tolerance& tolerance) {
  if (!answer.converged() || range.finite()) return;
  const HiddenTail found = hidden_tail(tree, variable, f, range);
  answer.truncation += found.mass;
  if (!(found.mass > 0) || answer.error() <= tolerance.of(answer.value)) return;
  answer.reason = quadrature::Reason::doubtful;
  answer.where = found.from;
  answer.why += fmt::format(
      "{}something in the formula overflows from x = {:.3g} on, and what its tail holds is {}",
      answer.why.empty() ? "" : "; ", found.from, std::isinf(found.mass) ? "without bound" : "missing");
}

std::vector<double> in_infinite_part(const quadrature::ManyValues& f, const quadrature::Box& box) {
  constexpr std::uint32_t count = 4096, seed = 97;
  const std::size_t d = box.axes.size();
  std::vector<double> points(d * count), y(count);
  for (std::size_t axis = 0; axis < d; ++axis) {
    Range range = box.axes[axis];
    if (range.lower > range.upper) std::swap(range.lower, range.upper);
    const quadrature::Axis map = quadrature::Axis::of(range);
    for (std::uint32_t i = 0; i < count; ++i) {
      double slope = 0;
      const int column = static_cast<int>(axis % quadrature::most_sobol_dimensions);
      map.map(quadrature::sobol(i, column, seed + axis / quadrature::most_sobol_dimensions),
              points[axis * count + i], slope);
    }
  }
  f(points, count, y);
  std::vector<double> first;
  int seen = 0;  // one alone may lie on a singular point
  for (std::uint32_t i = 0; i < count && seen < 2; ++i) {
    if (!std::isinf(y[i])) continue;
    if (++seen > 1) return first;
    for (std::size_t axis = 0; axis < d; ++axis) first.push_back(points[axis * count + i]);
  }
  return {};
}

}  // namespace tessera::integration
