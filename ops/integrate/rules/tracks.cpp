// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/rules/tracks.hpp"
#include <numbers>

namespace tessera::quadrature {
namespace {

// t from sinh t, and what cosh t adds to a weight.
double from_sinh(double sinh, double& weight) {
  weight *= std::numbers::pi / 2 * std::sqrt(1 + sinh * sinh);
  return std::asinh(sinh);
}

}  // namespace

Track Track::direct(const Piece& piece) {
  switch (piece.shape()) {
    case Shape::between:
      return {piece, Through::directly, piece.lower, piece.upper};
    case Shape::everywhere:
      return {piece, Through::directly, -1, 1};
    default:
      return {piece, Through::directly, 0, 1};
  }
}

Track Track::transformed(const Piece& piece, const Range& range) {
  const double reach = Variable(piece, range).reach();
  return {piece, Through::double_exponential, -reach, reach};
}

double Track::least_told() const {
  const bool half = piece.shape() == Shape::above || piece.shape() == Shape::below;
  return through == Through::directly && half ? 1 : 0;
}

void Track::map(const Variable& variable, const Range& range, std::span<const double> t, std::span<double> x,
                std::span<double> distance, std::span<double> weight) const {
  if (through == Through::double_exponential) return variable.map(t, x, distance, weight);
  const Shape shape = piece.shape();
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double away = (1 - t[i]) / t[i], square = (1 - t[i]) * (1 + t[i]);
    switch (shape) {
      case Shape::between:
        x[i] = t[i];
        break;
      case Shape::above:
        x[i] = piece.lower + away;
        break;
      case Shape::below:
        x[i] = piece.upper - away;
        break;
      case Shape::everywhere:
        x[i] = t[i] / square;
        break;
    }
    weight[i] = shape == Shape::between      ? 1
                : shape == Shape::everywhere ? (1 + t[i] * t[i]) / (square * square)
                                             : 1 / (t[i] * t[i]);
    distance[i] = range.distance(x[i]);
  }
}

double Track::place_of(double x, double& weight) const {
  const double above = x - piece.lower, below = piece.upper - x;
  const bool direct = through == Through::directly;
  constexpr double pi = std::numbers::pi;
  switch (piece.shape()) {
    case Shape::between: {
      weight = 1;
      if (direct) return x;
      const double length = piece.upper - piece.lower, share = std::fmin(above, below) / length;
      const double e = share / (1 - share), sinh = std::log(e) / pi;
      weight = 2 * length * e / ((1 + e) * (1 + e));
      const double t = from_sinh(sinh, weight);
      return above < below ? t : -t;
    }
    case Shape::everywhere: {
      if (direct) {
        const double t = 2 * x / (1 + std::sqrt(1 + 4 * x * x)), square = (1 - t) * (1 + t);
        weight = (1 + t * t) / (square * square);
        return t;
      }
      weight = std::sqrt(1 + x * x);
      return from_sinh(2 / pi * std::asinh(x), weight);
    }
    default: {
      const bool up = piece.shape() == Shape::above;
      const double away = up ? above : below;
      if (direct) {
        weight = (1 + away) * (1 + away);
        return 1 / (1 + away);
      }
      weight = away;
      const double t = from_sinh(2 / pi * std::log(away), weight);
      return up ? t : -t;
    }
  }
}

}  // namespace tessera::quadrature
