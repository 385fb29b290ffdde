// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/product.hpp"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <thread>
#include <utility>
#include "tessera/core/error.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::quadrature {
namespace {

struct Line {
  std::vector<double> u, weight;
  std::vector<char> odd;  // whether a grid of twice the step lacks it
};

// The points of one axis at this step, in each of its parts. u keeps no digits nearer to 1 than rounding
// allows, so it ends there.
Line line(double step, std::size_t parts) {
  constexpr double reach = 3.15;
  Line out;
  const int count = static_cast<int>(reach / step);
  const double share = 1 / static_cast<double>(parts);
  for (std::size_t part = 0; part < parts; ++part)
    for (int j = -count; j <= count; ++j) {
      const double t = j * step, v = std::numbers::pi / 2 * std::sinh(std::fabs(t)), e = std::exp(-2 * v);
      const double near = e / (1 + e), before = static_cast<double>(part);
      out.u.push_back(share * (before + (t < 0 ? near : 1 - near)));
      out.odd.push_back(j % 2 != 0);
      out.weight.push_back(share * step * std::numbers::pi * std::cosh(t) * e / ((1 + e) * (1 + e)));
    }
  return out;
}

// The points whose sums tell how f falls towards an end, outermost last; every step has them.
constexpr double watched[] = {2.25, 2.5, 2.75};

// By Neumaier: most terms are so small that a plain sum of tens of thousands would lose them one by one.
struct Compensated {
  double sum = 0, lost = 0;

  void add(double x) {
    const double to = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - to) + x : (x - to) + sum;
    sum = to;
  }
  double total() const { return sum + lost; }
};

struct Sums {
  double value = 0, magnitude = 0;
  // Of every second point of each axis, whose numbers are even there or, where the axis' bit is set, odd:
  // grids of twice the step, each with a place of its own.
  double coarse[1 << most_product_dimensions] = {};
  std::vector<double> values, magnitudes;  // of the watched points: axis, side, point

  // How far the sum moves that was furthest off, if its step is halved.
  double moved(std::size_t axes) const {
    double out = 0;
    for (std::size_t k = 0; k < std::size_t{1} << axes; ++k)
      out = std::fmax(out, std::fabs(std::ldexp(coarse[k], static_cast<int>(axes)) - value));
    return out;
  }

  explicit Sums(std::size_t axes = 0) : values(6 * axes, 0), magnitudes(6 * axes, 0) {}
};

double distance_at(double t) {
  const double e = std::exp(-std::numbers::pi * std::sinh(t));
  return e / (1 + e);
}

// Which of an axis' points these are.
std::size_t watched_point(const Line& line, std::size_t parts, double step, std::size_t k) {
  const std::size_t each = line.u.size() / parts;
  const auto away = static_cast<std::size_t>(std::lround(watched[k % 3] / step));
  return k < 3 ? each / 2 - away : line.u.size() - each + each / 2 + away;
}

// Rows of the grid, each a sum of its own, so that threads change no bit.
Sums sum(Cube& cube, const std::vector<Line>& lines, double step, int threads) {
  const std::size_t d = lines.size(), n = lines[0].u.size();
  std::size_t rows = 1;
  for (std::size_t k = 1; k < d; ++k) rows *= lines[k].u.size();
  std::vector<std::size_t> points;
  for (std::size_t k = 0; k < 6 * d; ++k)
    points.push_back(watched_point(lines[k / 6], cube.axes()[k / 6].count(), step, k % 6));
  struct Row {
    double value = 0, odd = 0, magnitude = 0, watched[6] = {};
  };
  std::vector<Row> parts(rows);
  std::atomic<std::size_t> next{0};
  parallel(static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), rows)), [&](int) {
    std::vector<double> u(d * n), y(n);
    for (std::size_t row = next++; row < rows; row = next++) {
      double weight = 1;
      std::size_t rest = row;
      for (std::size_t k = 1; k < d; rest /= lines[k++].u.size()) {
        const std::size_t at = rest % lines[k].u.size();
        std::fill_n(&u[k * n], n, lines[k].u[at]);
        weight *= lines[k].weight[at];
      }
      std::copy(lines[0].u.begin(), lines[0].u.end(), u.begin());
      cube.values(u, n, y);
      Compensated value, odd;
      for (std::size_t i = 0; i < n; ++i) {
        const double term = weight * lines[0].weight[i] * y[i];
        value.add(term);
        if (lines[0].odd[i]) odd.add(term);
        parts[row].magnitude += std::fabs(term);
      }
      parts[row].value = value.total();
      parts[row].odd = odd.total();
      for (std::size_t k = 0; k < 6; ++k)
        parts[row].watched[k] = weight * lines[0].weight[points[k]] * y[points[k]];
    }
  });
  Sums out(d);
  Compensated value, coarse[1 << most_product_dimensions];
  for (std::size_t row = 0; row < rows; ++row) {
    const Row& part = parts[row];
    value.add(part.value);
    out.magnitude += part.magnitude;
    for (std::size_t k = 0; k < 6; ++k) {
      out.values[k] += part.watched[k];
      out.magnitudes[k] += std::fabs(part.watched[k]);
    }
    std::size_t rest = row, grid = 0;
    for (std::size_t axis = 1; axis < d; rest /= lines[axis++].u.size()) {
      if (lines[axis].odd[rest % lines[axis].u.size()]) grid |= std::size_t{1} << axis;
      for (std::size_t k = 6 * axis; k < 6 * axis + 6; ++k) {
        if (rest % lines[axis].u.size() != points[k]) continue;
        out.values[k] += part.value;
        out.magnitudes[k] += part.magnitude;
      }
    }
    coarse[grid].add(part.value - part.odd);
    coarse[grid | 1].add(part.odd);
  }
  out.value = value.total();
  std::transform(std::begin(coarse), std::end(coarse), out.coarse,
                 [](const Compensated& sum) { return sum.total(); });
  cube.count(static_cast<std::int64_t>(rows * n));
  return out;
}

std::vector<End> ends_of(const Cube& cube, const Sums& sums, double step) {
  std::vector<End> out;
  for (std::size_t axis = 0; axis < cube.axes().size(); ++axis) {
    const Axis& at = cube.axes()[axis];
    const double part = 1 / static_cast<double>(at.count());
    for (std::size_t side = 0; side < 2; ++side) {
      double u[3], share[3];
      const double* const magnitudes = &sums.magnitudes[6 * axis + 3 * side];
      for (std::size_t k = 0; k < 3; ++k) {
        u[k] = part * distance_at(watched[k]);
        // The sum's weight is step·du/dt, and du/dt is this much times u.
        share[k] = magnitudes[k] / (step * std::numbers::pi * std::cosh(watched[k]));
      }
      const double one_sign = std::fabs(sums.values[6 * axis + 3 * side + 2]) / magnitudes[2];
      out.push_back(
          end_of(axis, side == 0 ? at.range.lower : at.range.upper, u, share, one_sign, sums.magnitude));
    }
  }
  return out;
}

// How far a sum is off that lies `apart` from that of every second point. Where f is analytic each step
// doubles the digits. Elsewhere steps may agree by chance, the grids of twice the step together seldom.
double told_of(double moved, double before, double earlier, double apart, double value) {
  const double size = std::fabs(value);
  const bool doubles = moved <= 10 * size * std::pow(before / size, 1.5),
             twice_less = moved <= before / 4 && before <= earlier / 4;
  if (!doubles || !(twice_less || moved <= before / 30)) {
    // Sums that move by a factor less from step to step still have all further steps before them.
    constexpr double slowest = 0.98;
    const double factor = std::fmin(moved / before, slowest);
    return std::fmax(moved * factor / (1 - factor), std::fmax(1.5 * moved, before));
  }
  // So slowly do kinks and jumps along oblique lines fall, too; all grids may be off to the same side, and
  // agree by chance.
  if (moved > before / 64) return 3 * std::fmax(std::fmax(apart, moved), before / 8);
  return std::fmax(apart, moved * std::fmin(1, 8 * moved / before));
}

// Where sums fall like a power of the step, those of all further steps can be told beforehand.
bool never_meets(double moved, double before, double earlier, double step, double last_step, double allowed) {
  constexpr double slowest = 1.5, fastest = 12;
  const double fall = before / moved, fall_before = earlier / before;
  if (!(slowest < fall && fall < fastest && slowest < fall_before && fall_before < fastest)) return false;
  return moved * std::pow(std::fmax(fall, fall_before), -std::log2(step / last_step)) > 4 * allowed;
}

// What rounding leaves of a sum, and the ends of whatever has a limit there: no singularity.
double noise_of(const Answer& answer) { return 64 * unit * answer.magnitude; }

// True: what the ends hide decides, and no smaller step helps.
bool hidden_at_ends(const Cube& cube, const Tolerance& tolerance, const std::vector<End>& ends, Answer& out) {
  const double hidden = beyond(ends, product_reach);
  out.truncation += hidden;
  if (hidden <= tolerance.of(out.value) || hidden <= noise_of(out)) return false;
  out.place = place_of(ends, product_reach, cube.axes().size());
  out.reason = Reason::singular;
  if (std::ranges::none_of(ends, &End::may_diverge)) return true;
  out.reason = std::ranges::any_of(ends, &End::diverges) ? Reason::diverges : Reason::may_diverge;
  if (out.reason == Reason::diverges) out.value = nothing;
  return true;
}

}  // namespace

Answer product_rule(Cube& cube, const Tolerance& tolerance, int threads, std::vector<End>* told) {
  const int d = cube.dimensions();
  if (d < 2 || d > most_product_dimensions) throw Error("the product rule takes 2 or 3 variables");
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Answer out;
  out.rule = "tanh-sinh product";
  double before = nothing, earlier = nothing, moved_before = nothing, moved_earlier = nothing;
  double pace = 0;  // seconds for each point so far: what takes too long is not begun
  for (double step = 0.25; step > 0.25 / 64; step /= 2) {
    std::vector<Line> lines;
    double points = 1;
    for (const Axis& axis : cube.axes()) {
      lines.push_back(line(step, axis.count()));
      points *= static_cast<double>(lines.back().u.size());
    }
    const double left = cube.seconds_left();
    const bool allowed = cube.allows(static_cast<std::int64_t>(std::fmin(points, 1e18)));
    if (!allowed || pace * points > left) {
      out.reason = allowed ? Reason::time : cube.cap();
      return out;
    }
    const Sums sums = sum(cube, lines, step, threads);
    pace = (left - cube.seconds_left()) / points;
    if (cube.undefined()) {
      out.evaluations = cube.evaluations();
      cube.judge(out);
      return out;
    }
    out.value = sums.value;
    out.magnitude = sums.magnitude;
    out.rounding = 8 * unit * sums.magnitude;
    const double moved = sums.moved(lines.size());
    out.truncation = std::isnan(before) ? infinity
                                        : told_of(moved, moved_before, moved_earlier,
                                                  std::fabs(sums.value - before), sums.value);
    out.evaluations = cube.evaluations();
    const std::vector<End> ends = ends_of(cube, sums, step);
    if (told != nullptr) *told = ends;
    if (!std::isnan(before) && hidden_at_ends(cube, tolerance, ends, out)) return out;
    const bool twice =
        !std::isnan(earlier) &&
        std::fabs(before - earlier) <= 1e3 * std::sqrt(tolerance.of(out.value) * std::fabs(out.value));
    if (twice && out.error() <= tolerance.of(out.value)) {
      out.reason = Reason::converged;
      return out;
    }
    // Nothing but rounding moves the sums, which cancel to less than that.
    if (std::fabs(before - earlier) <= 1e3 * std::sqrt(noise_of(out) * out.magnitude) &&
        out.truncation <= noise_of(out)) {
      out.reason = Reason::roundoff;
      return out;
    }
    // Other rules wait where the answer is to be checked; where this rule was named it does what it can.
    if (told != nullptr &&
        never_meets(moved, moved_before, moved_earlier, step, 0.25 / 32, tolerance.of(out.value)))
      break;
    earlier = before;
    before = sums.value;
    moved_earlier = std::exchange(moved_before, moved);
  }
  out.reason = Reason::unresolved;
  return out;
}

}  // namespace tessera::quadrature
