// SPDX-License-Identifier: Apache-2.0
#include "rounding.hpp"
#include <algorithm>
#include <cmath>

namespace tessera::matmul {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double growth_always(const Arguments& arguments, double u) {
  const double k = static_cast<double>(arguments.dim("k")), count = k + 3;
  const double gamma = count * u < 1 ? count * u / (1 - count * u) : infinity;
  const double sum = (k + 1) * u;
  return std::min(gamma, sum + (1 + sum) * (1.01 * 3 * u));
}

void append_to(Expected& expected, double value, double bound, int beyond = Expected::nothing) {
  expected.value.push_back(value);
  expected.bound.push_back(bound);
  expected.beyond.push_back(static_cast<std::uint8_t>(beyond));
}

}  // namespace

double rounding_growth(const Arguments& arguments, double unit_roundoff, Data data) {
  constexpr double chance = 1e-6;
  const double always = growth_always(arguments, unit_roundoff);
  if (data == Data::any) return always;
  const double count = static_cast<double>(arguments.dim("k")) + 3, u = unit_roundoff;
  const double elements =
      std::max(1.0, static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")));
  const double lambda = std::sqrt(2 * std::log(2 * elements * count / chance)) / (1 - u);
  return std::min(always, std::expm1(lambda * std::sqrt(count) * u + count * u * u / (1 - u)));
}

// The terms of one element, before α, in a range that none of them leaves.
template <class T>
struct Bound<T>::Terms {
  long double sum = 0, up = 0, down = 0,
              largest = 0;  // up, down: the magnitudes of the finite ones of either sign
  long double added = 0;    // β·c0
};

template <class T>
Bound<T>::Bound(const Arguments& arguments, const Problem<T>& p, Data data)
    : p_(p),
      growth_(rounding_growth(arguments, unit_, data)),
      always_(growth_always(arguments, unit_)),
      count_(static_cast<double>(p.k()) + 3),
      alpha_(std::fabs(static_cast<double>(p.alpha))),
      beta_(std::fabs(static_cast<double>(p.beta))),
      scales_whole_(is_whole(p.alpha) && is_whole(p.beta)) {}

template <class T>
void Bound<T>::append(std::int64_t i, std::int64_t j, Wide<T> sum, double product, bool whole,
                      Expected& expected) const {
  const T c0 = p_.beta == T{0} ? T{0} : p_.c0(i, j);
  const double added = beta_ * std::fabs(static_cast<double>(c0));
  const double terms = alpha_ * product + added, magnitude = terms * (1 + count_ * 0x1p-52);
  // Far from the largest number nothing overflows, in whatever order.
  constexpr double near = static_cast<double>(limits::max()) / 2;
  if (!(product <= near && magnitude <= near)) return append_overflowing(terms_of(i, j), expected);
  Wide<T> value = p_.alpha * sum;
  if (p_.beta != T{0}) value += Wide<T>{p_.beta} * c0;
  const auto rounded = static_cast<double>(value);
  // Sums of whole numbers whose magnitudes stay within the significand round nowhere.
  if (whole && scales_whole_ && is_whole(c0) && terms <= std::ldexp(1.0, limits::digits))
    return append_to(expected, rounded, 0);
  // What the reference itself errs: its sums of floats are doubles, those of doubles nearly twice as long.
  const double u = 0x1p-53, own = std::is_same_v<T, float> ? count_ * u : count_ * u * count_ * u + 0x1p-60;
  const double underflow = count_ * (alpha_ + 2) * static_cast<double>(limits::denorm_min());
  append_to(expected, rounded, (growth_ + own) * magnitude + std::fabs(rounded) * u + underflow);
}

template <class T>
typename Bound<T>::Terms Bound<T>::terms_of(std::int64_t i, std::int64_t j) const {
  Terms out;
  for (std::int64_t l = 0; l < p_.k(); ++l) {
    const long double term = static_cast<long double>(p_.a(i, l)) * static_cast<long double>(p_.b(l, j));
    out.sum += term;
    if (!std::isfinite(term)) continue;
    (term > 0 ? out.up : out.down) += std::fabs(term);
    out.largest = std::max(out.largest, std::fabs(term));
  }
  if (p_.beta != T{0}) out.added = static_cast<long double>(p_.beta) * static_cast<long double>(p_.c0(i, j));
  return out;
}

// A partial sum is at most the sum of the terms of its sign. Where that is beyond the largest number, a
// rung that adds these first gets an infinity, and keeps it unless it meets one of the other sign. A rung
// that gets a number had no partial sum beyond the largest one, so each of its roundings is small.
template <class T>
void Bound<T>::append_overflowing(const Terms& terms, Expected& expected) const {
  constexpr auto most = static_cast<long double>(limits::max());
  const bool turned = p_.alpha < T{0};
  const long double up = turned ? terms.down : terms.up, down = turned ? terms.up : terms.down;
  const auto reach = [&](long double sum, long double more) {
    const long double whole = std::max({sum, alpha_ * sum, alpha_ * sum + (more > 0 ? more : 0)});
    return std::isfinite(more) && whole * (1 + static_cast<long double>(always_)) > most;
  };
  const long double added = terms.added;
  const bool rises = std::isfinite(added) ? reach(up, added) : reach(up, 0);
  const bool falls = std::isfinite(added) ? reach(down, -added) : reach(down, 0);
  const int beyond = (rises ? Expected::infinity : 0) | (falls ? Expected::minus_infinity : 0) |
                     (rises && falls ? Expected::not_a_number : 0);
  const long double value = p_.alpha * terms.sum + added;
  if (std::isnan(value)) return append_to(expected, std::numeric_limits<double>::quiet_NaN(), 0);
  if (std::isinf(value))  // an input was: only an overflow the other way takes it away
    return append_to(expected, value > 0 ? infinity : -infinity, 0,
                     (value > 0 ? falls : rises) ? Expected::not_a_number : Expected::nothing);
  // A fused multiply-add brings a product back from beyond, but no further than twice the largest number.
  if (std::max(terms.largest, std::fabs(added)) > 2 * most * (1 + 4 * static_cast<long double>(unit_))) {
    const double shown = rises && falls ? std::numeric_limits<double>::quiet_NaN()
                         : rises        ? infinity
                                        : -infinity;
    return append_to(expected, shown, 0, beyond);
  }
  const long double magnitude = alpha_ * (up + down) + std::fabs(added), roundings = count_;
  const long double each = unit_ * most * std::max(1.0L, static_cast<long double>(alpha_));
  const long double bound = std::min(growth_ * magnitude, 2 * roundings * each) +
                            magnitude * roundings * 0x1p-64L + std::fabs(value) * 0x1p-53L;
  const long double nearest = std::clamp(value, -most, most), left = bound - std::fabs(value - nearest);
  if (left < 0) return append_to(expected, value > 0 ? infinity : -infinity, 0, beyond);
  append_to(expected, static_cast<double>(nearest), static_cast<double>(std::min(left, most)), beyond);
}

template class Bound<float>;
template class Bound<double>;

}  // namespace tessera::matmul
