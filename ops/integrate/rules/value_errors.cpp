// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/value_errors.hpp"
#include <algorithm>

namespace tessera::quadrature {
namespace {

// One side of a piece, from its middle outwards.
struct Side {
  static constexpr std::size_t most = 32;
  double x[most], distance[most], weight[most], own[most], y[most], error[most];
  std::size_t size = 0;
};

// Every second node of the double exponential variable's first step.
void place(const Variable& variable, int side, bool with_middle, Side& out) {
  const Nodes& nodes = ladder(variable.shape(), side)[0];
  const double length = variable.length(), step = 2 * first_step;
  out.size = 0;
  const auto add = [&](double distance, double weight) {
    out.distance[out.size] = distance;
    out.own[out.size] = distance * length;
    out.weight[out.size++] = weight * length * step;
  };
  if (with_middle) add(middle_distance(variable.shape()), middle_weight(variable.shape()));
  for (std::size_t j = 1; j < nodes.distance.size() && out.size < Side::most; j += 2) {
    // Closer to the end x is the end.
    if (nodes.distance[j] * length <= variable.blind(side)) break;
    add(nodes.distance[j], nodes.weight[j]);
  }
  variable.place(side, {out.distance, out.size}, {out.x, out.size});
}

double lost_on(const Side& side) {
  double out = 0, height = 0, there = 0;  // of the outermost value of which some digits are right
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
      error = std::fmin(error, size + expected(side.own[i]));
    }
    const double lost = weight * error;
    if (std::isfinite(lost)) out += lost;
  }
  return out;
}

}  // namespace

double error_of_values(const Integrand& f, const Range& range, std::span<const Piece> pieces) {
  if (!f.errors) return 0;
  double out = 0;
  Side side;
  for (const Piece& piece : pieces) {
    const Variable variable(piece, range);
    for (int k = 0; k < 2; ++k) {
      place(variable, k, k == 0, side);
      const std::span<const double> x{side.x, side.size}, distance{side.distance, side.size};
      f.values(x, distance, {side.y, side.size});
      f.errors(x, distance, {side.error, side.size});
      out += lost_on(side);
    }
  }
  return out;
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
