// SPDX-License-Identifier: Apache-2.0
// The double exponential change of variable (Takahasi and Mori): x(t) such that f(x(t))·x'(t) falls double
// exponentially on both sides, whatever integrable singularity f has at an end and however it decays.
// tanh-sinh between two limits, exp-sinh from one limit on, sinh-sinh without limits.
//
// Points are kept as distances to the nearer end, computed as such: 1 - tanh(u) would keep no digits.
#pragma once
#include <span>
#include "ops/integrate/quadrature/integrand.hpp"

namespace tessera::quadrature {

enum class Shape { between, half, everywhere };

struct Node {
  double distance;  // from the nearer end, of a range of length 1; without limits: from 0
  double weight;    // dx/dt
};
Node double_exponential_node(Shape shape, double t);

// The change of variable for one part of the range. t < 0 lies towards the lower limit (or towards the finite
// one where the other is infinite), t > 0 towards the other.
class DoubleExponential {
 public:
  explicit DoubleExponential(const Part& part);

  Shape shape() const { return shape_; }
  const char* name() const;  // of the rule in this variable
  double length() const { return length_; }
  double reach(int side) const { return reach_[side]; }  // |t| beyond which there are no more numbers
  double end(int side) const;                            // the limit, maybe infinite
  // Nearer to this side's end than that, x cannot be told from it, and the integrand takes no distance; else
  // 0.
  double blind(int side) const { return blind_[side]; }

  // Of points t on one side, as nodes of the unit range: x, and the distance that the integrand is given.
  void place(int side, std::span<const double> unit_distance, std::span<double> x,
             std::span<double> distance) const;

 private:
  Range range_;
  Shape shape_;
  double length_ = 1;
  double reach_[2], blind_[2], nearest_[2];
  int end_of_side_[2];  // 0: the range's lower limit, 1: the upper one
};

// Tables of nodes at t = first_step·(1, 2, 3 …) for level 0, and at the odd multiples of first_step/2^level
// for the others. side 0: t < 0, side 1: t > 0. Made once, kept for ever.
struct Nodes {
  std::vector<double> distance, weight;
};
inline constexpr double first_step = 0.25;
inline constexpr int deepest_level = 11;
const Nodes& level_nodes(Shape shape, int side, int level);

// Nodes of the Gauss-Kronrod rule of 21 points in a cell of t from k·first_cell to (k+1)·first_cell.
inline constexpr double first_cell = 0.5;
struct CellNodes {
  double distance[21], weight[21];
};
const CellNodes& cell_nodes(Shape shape, int k);

}  // namespace tessera::quadrature
