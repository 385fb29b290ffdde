// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/value_errors.hpp"
#include <algorithm>
#include "ops/integrate/rules/open_zones.hpp"

namespace tessera::quadrature {
namespace {

// One side of a piece, from its middle outwards.
struct Side {
  static constexpr std::size_t most = 112;
  double x[most], distance[most], weight[most], own[most], y[most], error[most];
  std::size_t size = 0;
};

// The nodes of all levels up to this one, in their order; of the first step's own every second one where the
// level is below 0.
void place(const Variable& variable, int side, int level, Side& out) {
  const Ladder& nodes = ladder(variable.shape(), side);
  const double length = variable.length(), step = level < 0 ? 2 * first_step : std::ldexp(first_step, -level);
  out.size = 0;
  const auto add = [&](double distance, double weight) {
    out.distance[out.size] = distance;
    out.own[out.size] = distance * length;
    out.weight[out.size++] = weight * length * step;
  };
  if (side == 0) add(middle_distance(variable.shape()), middle_weight(variable.shape()));
  const std::size_t finest = std::size_t{1} << std::max(level, 0);
  for (std::size_t m = level < 0 ? 2 : 1; out.size < Side::most; m += level < 0 ? 2 : 1) {
    // m·2^-level steps: the odd part's level is the one that has it.
    std::size_t of = static_cast<std::size_t>(std::max(level, 0)), odd = m;
    while (of > 0 && odd % 2 == 0) {
      odd /= 2;
      --of;
    }
    const std::size_t at = m % finest == 0 ? m / finest - 1 : odd / 2;
    if (at >= nodes[of].distance.size()) break;
    // Closer to the end x is the end.
    if (nodes[of].distance[at] * length <= variable.blind(side)) break;
    add(nodes[of].distance[at], nodes[of].weight[at]);
  }
  variable.place(side, {out.distance, out.size}, {out.x, out.size});
}

// `upper`: between two nodes what is lost is as much as at the worse one.
double lost_on(const Side& side, bool upper, double& without_digits) {
  double out = 0, before = 0, height = 0, there = 0;  // of the outermost value of which some digits are right
  // Towards an end f may grow, outwards it must fall, both by less than its integral allows.
  const auto expected = [&](double own) {
    const double ratio = own / there;
    return height * (ratio < 1 ? 1 / std::sqrt(ratio) : 1 / (ratio * std::sqrt(ratio)));
  };
  for (std::size_t i = 0; i < side.size; ++i) {
    const double size = std::fabs(side.y[i]), weight = side.weight[i];
    double error = side.error[i];
    if (!std::isfinite(size) || std::isnan(error)) continue;
    if (error <= size / 4) {
      // One that happens to be small must not stand for those beyond it.
      height = there > 0 ? std::fmax(size, expected(side.own[i]) / 4) : size;
      there = side.own[i];
    } else if (there > 0) {
      without_digits = std::fmax(without_digits, weight * std::fmin(error, size + expected(side.own[i])));
      error = std::fmin(error, size + expected(side.own[i]));
    }
    const double lost = weight * error;
    if (!std::isfinite(lost)) continue;
    out += upper ? std::fmax(lost, before) : lost;
    before = lost;
  }
  return out;
}

double error_at_level(const Integrand& f, const Range& range, std::span<const Piece> pieces, int level,
                      double& without_digits) {
  double out = 0;
  Side side;
  for (const Piece& piece : pieces) {
    const Variable variable(piece, range);
    for (int k = 0; k < 2; ++k) {
      place(variable, k, level, side);
      const std::span<const double> x{side.x, side.size}, distance{side.distance, side.size};
      f.values(x, distance, {side.y, side.size});
      f.errors(x, distance, {side.error, side.size});
      out += lost_on(side, level > 0, without_digits);
    }
  }
  return out;
}

// A cut is rounded, and with it where a jump is: by a unit of the last place, times what f jumps by. What
// still grows towards the cut is no jump.
double error_of_jumps(const Integrand& f, const Range& range, std::span<const Piece> pieces) {
  constexpr double near = 4, further = 64, settled = 0.1;
  double out = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const double at = pieces[i].lower;
    const double finer = std::nextafter(std::fabs(at), infinity) - std::fabs(at),
                 last_place = f.in_double ? 0x1p29 * finer : finer;  // of f32
    const double x[4] = {at - further * last_place, at - near * last_place, at + near * last_place,
                         at + further * last_place};
    if (!(range.lower < x[0] && x[3] < range.upper)) continue;
    double distance[4], y[4];
    for (int k = 0; k < 4; ++k) distance[k] = range.distance(x[k]);
    f.values(x, distance, y);
    const double jump = std::fabs(y[2] - y[1]);
    if (std::fabs(y[1] - y[0]) <= settled * jump && std::fabs(y[3] - y[2]) <= settled * jump)
      out += last_place * jump;
  }
  return out;
}

}  // namespace

double error_of_values(const Integrand& f, const Range& range, std::span<const Piece> pieces,
                       double magnitude) {
  constexpr double small = 1e-15;
  const double at_jumps = error_of_jumps(f, range, pieces) + open_beside_cuts(f, range, pieces);
  if (!f.errors) return at_jumps;
  double without_digits = 0;
  const double rough = error_at_level(f, range, pieces, -1, without_digits);
  // So few points may step over the magnitudes at which all digits are lost.
  if (!range.single() && !(without_digits > small * magnitude)) return at_jumps + rough;
  return at_jumps + std::fmax(rough, error_at_level(f, range, pieces, 2, without_digits));
}

void charge(Answer& answer, double lost, const Tolerance& tolerance) {
  if (lost == 0 || !std::isfinite(answer.value)) return;
  answer.rounding += lost;
  const double allowed = tolerance.of(answer.value);
  const bool hindered = answer.reason == Reason::doubtful || answer.reason == Reason::singular ||
                        answer.reason == Reason::unresolved || answer.reason == Reason::evaluations;
  if (answer.reason == Reason::converged ? !(answer.error() <= allowed)
                                         : hindered && lost > allowed / 2 && answer.truncation <= 8 * lost)
    answer.reason = Reason::roundoff;
}

}  // namespace tessera::quadrature
