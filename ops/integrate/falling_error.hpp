// SPDX-License-Identifier: Apache-2.0
// How the error of the trapezoid sum falls with the width of its strips, found from a few coarse sums.
#pragma once
#include <functional>
#include <optional>
#include <vector>
#include "setting.hpp"

namespace tessera::integration {

// error = factor · width^exponent, smaller terms left out; the limit is what is left without error. Of the
// unscaled integral.
struct FallingError {
  double exponent, factor;
  long double limit;
};

// Sums of 1, 2, 4 … 2^finest strips, each with the abscissae of the one before and those between them.
std::vector<long double> doubled_sums(const std::function<long double(long double x)>& height, long double a,
                                      long double b, int finest);

// From such sums, those of 16 strips and more, of heights that are right to a share of `unit`. Nothing where
// they do not fall like a power.
std::optional<FallingError> falling_error(const std::vector<long double>& sums, long double length,
                                          long double unit);

// From up to 8192 strips in higher precision.
std::optional<FallingError> falling_error(const Setting& setting);

}  // namespace tessera::integration
