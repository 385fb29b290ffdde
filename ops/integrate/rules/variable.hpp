// SPDX-License-Identifier: Apache-2.0
// Another variable for the integral: x(t) such that f(x(t))·x'(t) falls double exponentially on both
// sides, whatever integrable singularity f has at an end and however slowly it decays (Takahasi and
// Mori). tanh-sinh between two limits, exp-sinh from one limit on, sinh-sinh without limits.
//
// Points are kept as distances to the nearer end, computed as such: 1 - tanh(u) would keep no digits.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

enum class Shape { between, above, below, everywhere };

// A part of the range.
struct Piece {
  double lower = 0, upper = 1;

  Shape shape() const {
    if (std::isinf(lower)) return std::isinf(upper) ? Shape::everywhere : Shape::below;
    return std::isinf(upper) ? Shape::above : Shape::between;
  }
};

// The range, cut at those of `points` that lie inside.
std::vector<Piece> cut(const Range& range, std::span<const double> points);

// Where a finite range is longer by many orders of magnitude than an end of a piece, or than 1 from 0 on,
// cuts by which no piece spans more of them than a rule's points resolve.
std::vector<double> scale_cuts(const Range& range, std::span<const double> points);

// Of t >= 0 on one side: the distance to that side's end (or from the other, where the side has none),
// as a multiple of the piece's length, and the derivative likewise.
struct Nodes {
  std::vector<double> distance, weight;
};

// [0]: t = 1/4, 1/2, 3/4 …; [k]: the odd multiples of 2^-(k+2). Made once, kept for ever.
using Ladder = std::vector<Nodes>;
inline constexpr int deepest_level = 10;
inline constexpr double first_step = 0.25;
// side 0: t < 0, side 1: t > 0
const Ladder& ladder(Shape shape, int side);
double middle_distance(Shape shape);  // at t = 0
double middle_weight(Shape shape);

class Variable {
 public:
  Variable(const Piece& piece, const Range& range);

  double reach() const { return reach_; }  // t runs over [-reach, reach]
  double reach(int side) const;            // up to where the type has numbers
  Shape shape() const { return shape_; }
  const Piece& piece() const { return piece_; }
  double length() const { return length_; }
  // Below this distance to the piece's end x cannot be told from it.
  double blind(int side) const;
  bool is_end(int side) const { return side == 0 ? lower_is_end_ : upper_is_end_; }

  // From now on no x is the end of this side, but at the nearest the number before it.
  void stay_inside(int side);
  bool stays_inside(int side) const { return inside_[side]; }

  // Points from distances (of the unit piece), in place: `distance` becomes what the integrand is told.
  void place(int side, std::span<double> distance, std::span<double> x) const;
  // The same for any t.
  void map(std::span<const double> t, std::span<double> x, std::span<double> distance,
           std::span<double> weight) const;
  double x(double t) const;

 private:
  Piece piece_;
  Range range_;
  Shape shape_;
  double length_, reach_;
  bool lower_is_end_, upper_is_end_;
  bool inside_[2] = {false, false};
  double nearest_[2] = {0, 0};
};

}  // namespace tessera::quadrature
