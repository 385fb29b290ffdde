// SPDX-License-Identifier: Apache-2.0
// How the error of the trapezoid sum falls with the width of its strips, found from a few coarse sums.
#pragma once
#include <optional>
#include "setting.hpp"

namespace tessera::integration {

// error = factor · width^exponent, smaller terms left out; the limit is what is left without error. Of the
// unscaled integral.
struct FallingError {
  double exponent, factor;
  long double limit;
};

// From sums of 16 to 8192 strips in higher precision. Nothing where they do not fall like a power.
std::optional<FallingError> falling_error(const Setting& setting);

}  // namespace tessera::integration
