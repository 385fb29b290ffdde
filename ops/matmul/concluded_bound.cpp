// SPDX-License-Identifier: Apache-2.0
#include "concluded_bound.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include "elements.hpp"
#include "low_bound.hpp"
#include "rounding.hpp"

namespace tessera::matmul {
namespace {

constexpr double u = 0x1p-53, steepest = 1.13;
constexpr double of_functions = 0x1p-49, of_reference = 0x1p-51;  // times |z|: a rung's functions, and ours

// Where a sum may have left f64's range, an activation may make anything of it; ReLU also a 0.
void widen(Activation activation, double value, double& bound, std::uint8_t& beyond) {
  if (beyond == Expected::nothing || activation == Activation::none) return;
  if ((beyond & Expected::minus_infinity) != 0 && std::isfinite(value)) bound = std::max(bound, std::fabs(value));
  beyond = Expected::infinity | Expected::minus_infinity | Expected::not_a_number;
}

double strays_of(double before, double bound, double bias, double z) {
  if (bias == 0) return bound;
  const bool whole = bound == 0 && is_whole(before) && is_whole(bias) && std::fabs(before) + std::fabs(bias) <= 0x1p53;
  return whole ? 0 : bound + 1.01 * u * (2 * std::fabs(z) + bound);  // z is rounded here, too
}

void conclude(Activation activation, double bias, double& value, double& bound, std::uint8_t& beyond) {
  const double z = value + bias;
  if (!std::isfinite(z)) {
    value = activated_exactly(activation, z);
    return widen(activation, value, bound, beyond);
  }
  const bool bent = activation != Activation::none && activation != Activation::relu;
  const double strays = strays_of(value, bound, bias, z);
  value = activated_exactly(activation, z);
  bound = bent ? steepest * strays + (of_functions + of_reference) * std::fabs(z) +
                     4 * std::numeric_limits<double>::denorm_min()
               : strays;
  widen(activation, value, bound, beyond);
}

}  // namespace

template <class T>
ConcludedBound<T>::ConcludedBound(const Arguments& arguments) {
  if (!is_plain(arguments)) after_ = Conclusion<T>::of(arguments, nullptr);
}

template <class T>
void ConcludedBound<T>::apply(std::int64_t i, std::int64_t j, Expected& expected) const {
  if (!after_) return;
  double& value = expected.value.back();
  if constexpr (std::is_integral_v<T>) {
    value = concluded(*after_, 0, i, j, static_cast<T>(value));
  } else {
    const double bias = after_->bias == nullptr ? 0 : after_->bias[place(after_->of_bias, 0, i, j)];
    conclude(after_->activation, bias, value, expected.bound.back(), expected.beyond.back());
  }
}

template class ConcludedBound<double>;
template class ConcludedBound<std::int32_t>;

}  // namespace tessera::matmul
