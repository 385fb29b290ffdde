// SPDX-License-Identifier: Apache-2.0
#include "low_bound.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include "rounding.hpp"

namespace tessera::matmul {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double u = 0x1p-24, tiny = 0x1p-149, largest = std::numeric_limits<float>::max();

struct Format {
  int digits, least;  // of the significand; the exponent of the smallest normal number
  double most;
};

Format format_of(Element element) {
  switch (element) {
    case Element::bf16:
      return {8, -126, 0x1.fep127};
    case Element::f16:
      return {11, -14, 65504};
    default:
      return {24, -126, largest};
  }
}

bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }

double at(Element element, const void* data, std::int64_t offset) {
  return load_as_double(
      element, static_cast<const char*>(data) + offset * static_cast<std::int64_t>(size_of(element)));
}

// What an activation may add of its own, as a share of what it is given: f32 functions are good to 20 bits,
// and whoever takes GELU's approximation takes a GPU's approximate tanh, which is good to 11, as well.
double error_of(Activation activation) {
  if (activation == Activation::none || activation == Activation::relu) return 0;
  return activation == Activation::gelu_tanh ? 0x1p-11 : 0x1p-20;
}
constexpr double steepest = 1.13;  // slope of any

double always(const LowProblem& p, double k) {
  const double count = k + 16;
  double out = count * u < 1 ? count * u / (1 - count * u) : infinity;
  if (p.tf32) out += 0x1.02p-9;
  if (!is_fp8(p.a.element)) return out;
  const double blocks = std::ceil(k / 32), of_one = 34 * 0x1p-13;
  return out + of_one * (p.fast ? blocks : std::min(4.0, blocks));
}

double for_random(const LowProblem& p, double k, double lambda) {
  const double rms = std::numbers::pi / 2 / std::sqrt(k), partial = std::min(1.0, lambda * rms);
  const double blocks = std::ceil(k / (p.tf32 ? 8 : 16));
  double out = u * partial * (2 * blocks + lambda * std::sqrt(k + 17));
  // Of what two cut factors lose, about its mean, which is for `stray`.
  if (p.tf32) out += 0x1p-10 * std::min(1.0, lambda * rms / 2);
  if (!is_fp8(p.a.element)) return out;
  if (!p.fast) return out + 5 * 0x1p-13 * partial;
  const double cuts = std::ceil(k / 32);
  return out + 0x1p-13 * (cuts / 2 * partial + lambda * std::sqrt(11 * cuts) * std::min(1.0, 1.5 * rms));
}

}  // namespace

double rounded_to(Element element, double x) {
  if (std::isnan(x)) return element == Element::i8 ? 0 : x;
  if (element == Element::i8) return std::clamp(std::nearbyint(x), -128.0, 127.0);
  if (x == 0 || std::isinf(x)) return x;
  const Format format = format_of(element);
  const int exponent = std::max(std::ilogb(x), format.least) - format.digits + 1;
  const double out = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
  return std::fabs(out) > format.most ? std::copysign(infinity, x) : out;
}

double activated_exactly(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

double sum_growth(const LowProblem& p, const Arguments& arguments, Data data) {
  constexpr double chance = 1e-6;
  if (p.a.element == Element::i8 || p.k == 0) return 0;
  const auto k = static_cast<double>(p.k);
  if (data == Data::any) return always(p, k);
  const double elements =
      std::max(1.0, static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")));
  const double lambda = std::sqrt(2 * std::log(2 * elements * (k + 3) / chance));
  return std::min(always(p, k), for_random(p, k, lambda));
}

LowBound::LowBound(const LowProblem& p, const Arguments& arguments, Data data)
    : p_(p),
      growth_(sum_growth(p, arguments, data)),
      always_(sum_growth(p, arguments, Data::any)),
      own_(p.a.element == Element::i8 ? 0 : static_cast<double>(p.k) * 0x1p-53),
      exact_within_(is_fp8(p.a.element) ? 0x1p13 : 0x1p24) {}

LowBound::After LowBound::after(std::int64_t i, std::int64_t j) const {
  After out;
  out.factor = p_.alpha;
  if (p_.scale_a != nullptr && p_.k != 0) out.factor *= p_.scale_a[i * p_.scale_a_step];
  if (p_.scale_b != nullptr && p_.k != 0) out.factor *= p_.scale_b[j * p_.scale_b_step];
  if (p_.beta != 0) out.added = p_.beta * at(p_.c0.element, p_.c0.data, i * p_.c0.row + j * p_.c0.col);
  if (p_.bias != nullptr) out.bias = at(p_.bias_element, p_.bias, i * p_.bias_row + j * p_.bias_col);
  return out;
}

// Sums of i8 are exact. Only elements with f32's range have products beyond it, and only there is each looked
// at.
Terms LowBound::terms_of(std::int64_t i, std::int64_t j, double sum, double magnitude) const {
  if (p_.a.element == Element::i8 || (std::isfinite(sum) && magnitude < largest / 4)) {
    const double size = p_.a.element == Element::i8 ? std::fabs(sum) : magnitude;
    return {(size + sum) / 2, (size - sum) / 2, size};
  }
  Terms out;
  for (std::int64_t l = 0; l < p_.k; ++l) {
    const double term = at(p_.a.element, p_.a.data, i * p_.a.row + l * p_.a.col) *
                        at(p_.b.element, p_.b.data, l * p_.b.row + j * p_.b.col);
    out.plus |= term == infinity;
    out.minus |= term == -infinity;
    if (!std::isfinite(term)) continue;
    (term > 0 ? out.above : out.below) += std::fabs(term);
    out.largest = std::max(out.largest, std::fabs(term));
  }
  return out;
}

// f32's fused multiply-add brings a product back from beyond, but no further than twice the largest number. A
// tensor core may hold the products of a step in a wider range.
constexpr double brought_back = 2 * largest * (1 + 4 * u);

// What α·s_a·s_b·sum + β·c0 + bias may come to: each partial sum, and each sum of scaled terms, is an f32.
// `strays`: of the sum.
Reach LowBound::reach_of(const Terms& terms, const After& after, double sum, double strays) const {
  const double margin = 1 + always_ + 8 * u, factor = after.factor;
  const bool strict = p_.a.element == Element::f32 && !p_.tf32;
  const auto finite = [](double x) { return std::isfinite(x) ? x : 0; };
  Reach out;
  if (terms.plus || terms.minus) out = {false, terms.plus, terms.minus};
  out = out.overflowing(terms.above * margin > largest, terms.below * margin > largest);
  out.number &= std::fabs(sum) - strays <= largest && !(strict && terms.largest > brought_back);
  out = out.times(factor, sum - strays, sum + strays);
  const double up = finite(factor * (factor < 0 ? -terms.below : terms.above)),
               down = finite(factor * (factor < 0 ? -terms.above : terms.below));
  const double added = finite(after.added), bias = finite(after.bias);
  const double risen = up + std::max(added, 0.0) + std::max(bias, 0.0),
               fallen = down - std::min(added, 0.0) - std::min(bias, 0.0);
  out = out.overflowing(risen * margin > largest, fallen * margin > largest);
  out.number &=
      std::fabs(factor) * (std::fabs(sum) - strays) <= brought_back && std::fabs(added) <= brought_back;
  return out.with(after.added).with(after.bias);
}

// The sum of whole numbers, or of nothing but noughts.
bool LowBound::is_exact(double magnitude, bool whole) const {
  if (p_.a.element == Element::i8 || magnitude == 0) return true;
  return whole && magnitude <= exact_within_ && !(p_.tf32 && magnitude > 0x1p22);
}

double LowBound::stray_of_sum(double sum, double magnitude, const Terms* found) const {
  double strays = growth_ * magnitude;
  // A rung that has a number had no partial sum beyond f32, so each of its roundings is small.
  if (found != nullptr && found->largest <= brought_back)
    strays = std::min(strays, always_ * 2 * brought_back);
  if (p_.tf32) strays += 0x1.02p-10 * std::fabs(sum);
  return strays;
}

// Of everything before the activation.
double LowBound::stray(const After& after, double sum, double magnitude, bool whole,
                       const Terms* found) const {
  const double factor = std::fabs(after.factor), terms = std::fabs(after.added) + std::fabs(after.bias);
  // Quarters of whole numbers that stay within the significand round nowhere, in whatever order.
  const auto quarters = [](double x) { return is_whole(4 * x); };
  const bool exact_sum = is_exact(magnitude, whole);
  if (exact_sum && quarters(after.factor) && quarters(after.added) && quarters(after.bias) &&
      quarters(p_.beta) && 4 * std::max(1.0, factor) * std::max(magnitude, 1.0) + 4 * terms <= 0x1p24)
    return 0;
  const double strays = exact_sum ? 0 : stray_of_sum(sum, magnitude, found);
  // Before i32 becomes f32, in each product and in each sum.
  const double roundings = 8 * u * (factor * (std::fabs(sum) + strays) + terms);
  const double underflow = (static_cast<double>(p_.k) * factor + factor + 8) * tiny;
  return factor * (strays + own_ * magnitude) + roundings + underflow;
}

// i32 from i8, modulo 2^32.
void LowBound::append_whole(const After& after, double sum, Expected& expected) const {
  const auto bits = [](double x) { return static_cast<std::uint32_t>(static_cast<std::int64_t>(x)); };
  auto value = static_cast<std::int32_t>(bits(p_.alpha) * bits(sum) + bits(after.added) + bits(after.bias));
  if (p_.activation == Activation::relu) value = std::max(value, 0);
  expected.value.push_back(value);
  expected.bound.push_back(0);
  expected.beyond.push_back(Expected::nothing);
}

void LowBound::append(std::int64_t i, std::int64_t j, double sum, double magnitude, bool whole,
                      Expected& expected) const {
  const After after = this->after(i, j);
  // Sums of whole numbers count modulo 2^32, whatever becomes of them.
  if (p_.a.element == Element::i8)
    sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
  if (p_.c_element == Element::i32) return append_whole(after, sum, expected);
  const double before = after.factor * sum + after.added + after.bias;
  if (std::isnan(sum) || std::isnan(after.factor) || std::isnan(after.added) || std::isnan(after.bias))
    return append_reached(Reach::nothing_but_nan(), before, 0, expected);
  const double terms =
      magnitude * std::max(1.0, std::fabs(after.factor)) + std::fabs(after.added) + std::fabs(after.bias);
  // Far from f32's largest number nothing overflows, in whatever order.
  if (terms < largest / 4)
    return append_reached({}, before, stray(after, sum, magnitude, whole, nullptr), expected);
  const Terms found = terms_of(i, j, sum, magnitude);
  double of_sum = 0;
  if (!is_exact(magnitude, whole))
    of_sum = stray_of_sum(sum, magnitude, &found) + own_ * magnitude + static_cast<double>(p_.k) * tiny;
  const Reach reach = reach_of(found, after, sum, of_sum);
  append_reached(reach, before, reach.number ? stray(after, sum, magnitude, whole, &found) : 0, expected);
}

// `before`: the exact number that the activation is given, `strays`: how far an honest one may be from it.
void LowBound::append_reached(const Reach& reach, double before, double strays, Expected& expected) const {
  Reach found = reach.activated(p_.activation);
  const bool relu = p_.activation == Activation::relu, bent = !relu && p_.activation != Activation::none;
  if (bent) strays = steepest * strays + error_of(p_.activation) * std::fabs(before);
  const double exact = relu ? before : activated_exactly(p_.activation, before);
  const auto converted = [&](double x) { return rounded_to(p_.c_element, relu ? std::max(x, 0.0) : x); };
  double low = converted(exact - strays), high = converted(exact + strays);
  if (p_.c_element == Element::i8) {
    if (!found.number) low = infinity, high = -infinity;
    for (const auto& [reached, x] : {std::pair{found.plus, 127.0}, {found.minus, -128.0}, {found.nan, 0.0}})
      if (reached) low = std::min(low, x), high = std::max(high, x);
    found = {true, false, false, false, found.nought};
  }
  found.append(low, high, p_.c_element == Element::i8 ? 128 : format_of(p_.c_element).most, expected);
}

}  // namespace tessera::matmul
