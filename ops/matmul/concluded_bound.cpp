// SPDX-License-Identifier: Apache-2.0
#include "concluded_bound.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include "elements.hpp"
#include "low_bound.hpp"
#include "reach.hpp"
#include "rounding.hpp"

namespace tessera::matmul {
namespace {

constexpr double u = 0x1p-53, steepest = 1.13;
constexpr double of_functions = 0x1p-49, of_reference = 0x1p-51;  // times |z|: a rung's functions, and ours

// What a bound says that an element may be.
Reach reach_of(double value, std::uint8_t beyond) {
  const bool infinite = std::isinf(value);
  return {std::isfinite(value), (infinite && value > 0) || (beyond & Expected::infinity) != 0,
          (infinite && value < 0) || (beyond & Expected::minus_infinity) != 0,
          std::isnan(value) || (beyond & Expected::not_a_number) != 0};
}

double strays_of(double before, double bound, double bias, double z) {
  if (bias == 0) return bound;
  const bool whole =
      bound == 0 && is_whole(before) && is_whole(bias) && std::fabs(before) + std::fabs(bias) <= 0x1p53;
  return whole ? 0 : bound + 1.01 * (2 * u * std::fabs(z) + u * bound);  // z is rounded here, too
}

// Replaces the last element.
void conclude(Activation activation, double bias, Expected& expected) {
  constexpr double most = std::numeric_limits<double>::max();
  const double value = expected.value.back(), bound = expected.bound.back();
  Reach reach = reach_of(value, expected.beyond.back());
  double z = value, strays = bound;
  if (reach.number && std::isfinite(bias)) {
    const long double sum = static_cast<long double>(value) + bias;  // which no double need hold
    const auto exact = static_cast<double>(std::clamp<long double>(sum, -most, most));
    strays = strays_of(value, bound, bias, exact);
    z = exact;
    const bool over = std::fabs(sum) + strays > static_cast<long double>(most);
    reach.number = std::fabs(sum) - strays <= static_cast<long double>(most);
    reach.plus |= over && sum > 0;
    reach.minus |= over && sum < 0;
  }
  reach = reach.with(bias).activated(activation);
  const bool relu = activation == Activation::relu, bent = activation != Activation::none && !relu;
  if (bent)
    strays = steepest * strays + (of_functions + of_reference) * std::fabs(z) +
             4 * std::numeric_limits<double>::denorm_min();
  const double right = activated_exactly(activation, z);
  expected.value.pop_back();
  expected.bound.pop_back();
  expected.beyond.pop_back();
  const bool whole = reach.number && !reach.nought && !(relu && z < strays);
  if (!whole) {
    const double from = relu ? std::max(z - strays, 0.0) : right - strays,
                 to = relu ? std::max(z + strays, 0.0) : right + strays;
    return reach.append(from, to, most, expected);
  }
  // About the value itself, which the middle of its interval might not be to the last bit.
  expected.value.push_back(right);
  expected.bound.push_back(strays);
  expected.beyond.push_back(reach.beyond());
}

}  // namespace

template <class T>
ConcludedBound<T>::ConcludedBound(const Arguments& arguments) {
  if (!is_plain(arguments)) after_ = Conclusion<T>::of(arguments, nullptr);
}

template <class T>
void ConcludedBound<T>::apply(std::int64_t i, std::int64_t j, Expected& expected) const {
  if (!after_) return;
  if constexpr (std::is_integral_v<T>) {
    double& value = expected.value.back();
    value = concluded(*after_, 0, i, j, static_cast<T>(value));
  } else {
    const double bias = after_->bias == nullptr ? 0 : after_->bias[place(after_->of_bias, 0, i, j)];
    conclude(after_->activation, bias, expected);
  }
}

template class ConcludedBound<double>;
template class ConcludedBound<std::int32_t>;

}  // namespace tessera::matmul
