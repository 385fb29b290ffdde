// SPDX-License-Identifier: Apache-2.0
// The variables in which a part of the range may be bisected.
#pragma once
#include <span>
#include "ops/integrate/rules/variable.hpp"

namespace tessera::quadrature {

enum class Through {
  directly,            // x itself; x = lower + (1-t)/t and its like where the range is infinite
  double_exponential,  // the variable of tanh-sinh: end singularities are smooth in it
};

// A part of the range, and where its variable runs.
struct Track {
  Piece piece;
  Through through = Through::directly;
  double from = 0, to = 1;
  bool inside[2] = {false, false};  // as Variable::stay_inside has it
  static Track direct(const Piece& piece);
  static Track transformed(const Piece& piece, const Range& range);

  // x nearer to 0 has the digits of this number: where it is made of 1 - t, those of t near 1 are all it has.
  double least_told() const;
  void map(const Variable& variable, const Range& range, std::span<const double> t, std::span<double> x,
           std::span<double> distance, std::span<double> weight) const;
  // The variable at x, and dx/dt there.
  double place_of(double x, double& weight) const;
};

}  // namespace tessera::quadrature
