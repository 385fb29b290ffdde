// SPDX-License-Identifier: Apache-2.0
// What was tried of f before a rule began, held against what the rule's points lead to expect. A pair of
// rules agrees with itself about a smooth integrand whatever stands between its points; where the first look
// met a bump there, a cell that expects none is off by it.
#pragma once
#include <span>
#include <vector>
#include "ops/integrate/rules/probe.hpp"
#include "ops/integrate/rules/tracks.hpp"

namespace tessera::quadrature {

class Witnesses {
 public:
  Witnesses(const Look& seen, std::span<const Track> tracks);

  // How far the integral over a cell may be off by what was seen: f beside the polynomial that takes the
  // values `term` at the nodes of a pair, and the largest share of a single witness, for a bump that only one
  // or two of them met.
  template <std::size_t half>
  double missed(std::size_t track, double from, double to, const double* term) const;

  // |t| of the outermost one on a side that counts for more than `least`.
  double outermost(std::size_t track, int side, double least) const;

 private:
  struct Witness {
    double t, term;
  };
  std::vector<std::vector<Witness>> of_;  // of each track, in the order of t
};

}  // namespace tessera::quadrature
