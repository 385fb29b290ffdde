// SPDX-License-Identifier: Apache-2.0
// A look at the integrand before any rule is chosen. A rule sees f at its points only, and a peak that
// lies between them does not exist for it; so f is first tried at points of many scales: evenly, and at
// distances of every magnitude from the ends and from 0. Peaks found are climbed and measured.
#pragma once
#include <vector>
#include "ops/integrate/rules/integrand.hpp"

namespace tessera::quadrature {

struct Look {
  std::vector<double> x, y;   // what was seen, ordered by x
  std::vector<double> peaks;  // tops of narrow peaks that matter
  bool zeros_only = false;
  double hole = nothing;  // an abscissa in a stretch without finite values
  int sign_changes = 0;
};

struct Scales {
  int even = 3001;      // points spread over a finite range
  int per_decade = 20;  // at distances from an end or 0 …
  int dense = 160;      // … of 0.1 to 1e5, where the peaks of an infinite range mostly lie
  // … of 1 to 1e4, where no text tells of peaks: a bell is seen that is a thousandth as wide as it is far
  // out.
  int denser = 160;
};
constexpr int denser_without_text = 480;

// The abscissae that are tried; `centres`: further ones to try at distances of every magnitude.
std::vector<double> probe_places(const Range& range, const Scales& scales = {},
                                 std::span<const double> centres = {});

Look look(Sampler& sampler, std::span<const double> centres = {}, const Scales& scales = {});

// What the integral of |f| is at least, by what was seen: where |f| is large at two neighbours it is taken to
// be so between them.
double least_magnitude(const Look& seen);

}  // namespace tessera::quadrature
