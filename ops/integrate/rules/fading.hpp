// SPDX-License-Identifier: Apache-2.0
// How much is left of a function that fades more slowly than any power, told from what it does before.
//
// Where g falls as exp(-∫m), m its logarithmic slope, g/m is left behind a place; but where m itself falls as
// p/s, g falls as s^-p only, and g/m·p/(p-1) is left, which is infinite from p = 1 down. Two slopes tell p,
// wherever s begins.
// Installed: for programs.
#pragma once
#include <cmath>

namespace tessera::quadrature {

// The slope that a power would have to have for as much to be left; 0 where it may be any amount: then p is
// so near 1 that 1/(s·log(s)), which has no limit, looks like it.
// m_before and m are the slopes at two places that lie `apart` from each other, in the variable of the slope.
inline double lasting_slope(double m_before, double m, double apart) {
  constexpr double least = 1.5;
  if (!(m > 0)) return 0;
  if (!(m_before > m)) return m;
  const double p = apart / (1 / m - 1 / m_before);
  return p >= least ? m * (p - 1) / p : 0;
}

}  // namespace tessera::quadrature
