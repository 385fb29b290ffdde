// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/verify/bounds.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include "ops/matmul/emulated_fp32/emulated_fp32.hpp"
#include "ops/matmul/gemm/operands.hpp"

namespace tessera::matmul {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double steepest = 1.13;  // slope of any activation

void append_to(Expected& expected, double value, double bound, int beyond = Expected::nothing) {
  expected.value.push_back(value);
  expected.bound.push_back(bound);
  expected.beyond.push_back(static_cast<std::uint8_t>(beyond));
}

}  // namespace

Reach Reach::overflowing(bool rises, bool falls) const {
  Reach out = *this;
  out.plus = plus || (rises && number);
  out.minus = minus || (falls && number);
  out.nan = nan || (rises && (minus || (falls && number))) || (falls && plus);
  return out;
}

Reach Reach::with(double x) const {
  if (std::isnan(x)) return nothing_but_nan();
  if (std::isfinite(x)) return *this;
  const bool up = x > 0, along = up ? plus : minus, against = up ? minus : plus;
  const bool infinite = number || along;
  return {false, up && infinite, !up && infinite, nan || against};
}

Reach Reach::times(double factor, double lower, double upper) const {
  if (std::isnan(factor)) return nothing_but_nan();
  if (factor == 0) return {number, false, false, nan || plus || minus};
  Reach out = *this;
  if (std::isinf(factor)) {
    out.number = false;
    out.plus = plus || (number && upper > 0);
    out.minus = minus || (number && lower < 0);
    out.nan = nan || (number && lower <= 0 && upper >= 0);
  }
  if (factor < 0) std::swap(out.plus, out.minus);
  return out;
}

// Activations other than ReLU compute 0·∞ = NaN at -∞.
Reach Reach::after(const PostOp& post_op) const {
  Reach out = *this;
  const Activation activation = post_op.activation;
  if (activation == Activation::none) return out;
  out.minus = false;
  if (activation == Activation::relu) out.nought = minus;
  else out.nan = nan || minus;
  return out;
}

std::uint8_t Reach::beyond() const {
  return static_cast<std::uint8_t>((plus ? Expected::infinity : 0) | (minus ? Expected::minus_infinity : 0) |
                                   (nan ? Expected::not_a_number : 0));
}

void Reach::append(double lower, double upper, double most, Expected& expected) const {
  if (!number) lower = infinity, upper = -infinity;
  if (nought) lower = std::min(lower, 0.0), upper = std::max(upper, 0.0);
  Reach rest = *this;
  rest.plus |= number && upper > most;
  rest.minus |= number && lower < -most;
  lower = std::max(lower, -most), upper = std::min(upper, most);
  double value = lower, bound = 0;
  if (lower < upper) {
    value = lower / 2 + upper / 2;
    bound = (upper / 2 - lower / 2) * (1 + 0x1p-50);
  } else if (lower > upper && rest.plus != rest.minus) {  // no number
    value = rest.plus ? infinity : -infinity;
    rest.plus = rest.minus = false;
  } else if (lower > upper) {
    value = std::numeric_limits<double>::quiet_NaN();
    rest.nan = false;
  }
  append_to(expected, value, bound, rest.beyond());
}

// The terms of one element, before α, in a type whose range they do not exceed.
template <class T>
struct Bound<T>::WideTerms {
  long double sum = 0, up = 0, down = 0,
              largest = 0;  // up, down: sums of magnitudes of the finite terms of either sign
  long double added = 0;    // β·c0
};

template <class T>
Bound<T>::Bound(const Arguments& arguments, const Problem<T>& p, Data data, const Slack& slack)
    : p_(p),
      growth_(rounding_growth(arguments, unit_, data) + slack.growth),
      always_(growth_always(arguments, unit_) + slack.growth),
      floor_(slack.floor),
      count_(static_cast<double>(p.k()) + 3),
      alpha_(std::fabs(static_cast<double>(p.alpha))),
      beta_(std::fabs(static_cast<double>(p.beta))),
      scales_whole_(slack.growth == 0 && is_whole(p.alpha) && is_whole(p.beta)) {}

template <class T>
void Bound<T>::append(std::int64_t i, std::int64_t j, Wide<T> sum, double product, bool whole,
                      Expected& expected) const {
  const T c0 = p_.beta == T{0} ? T{0} : p_.c0(i, j);
  const double added = beta_ * std::fabs(static_cast<double>(c0));
  const double terms = alpha_ * product + added, magnitude = terms * (1 + count_ * 0x1p-52);
  // Far from the largest number nothing overflows, in any order.
  constexpr double near = static_cast<double>(limits::max()) / 2;
  if (!(product <= near && magnitude <= near)) return append_overflowing(terms_of(i, j), expected);
  Wide<T> value = p_.alpha * sum;
  if (p_.beta != T{0}) value += Wide<T>{p_.beta} * c0;
  const auto rounded = static_cast<double>(value);
  // Sums of integers whose magnitudes stay within the significand are exact.
  if (whole && scales_whole_ && is_whole(c0) && terms <= std::ldexp(1.0, limits::digits))
    return append_to(expected, rounded, 0);
  // The reference's own error: it sums floats in double, and doubles in pairs of doubles.
  const double u = 0x1p-53, own = std::is_same_v<T, float> ? count_ * u : count_ * u * count_ * u + 0x1p-60;
  const double underflow =
      count_ * (alpha_ + 2) * static_cast<double>(limits::denorm_min()) + (alpha_ + 1) * floor_;
  append_to(expected, rounded, (growth_ + own) * magnitude + std::fabs(rounded) * u + underflow);
}

template <class T>
typename Bound<T>::WideTerms Bound<T>::terms_of(std::int64_t i, std::int64_t j) const {
  WideTerms out;
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

// A partial sum is at most the sum of the terms of its sign. If that exceeds the largest number, a rung that
// adds these first gets an infinity, and keeps it unless one of the other sign is added. If a rung's result
// is finite, no partial sum exceeded the largest number, so each of its roundings is small.
template <class T>
void Bound<T>::append_overflowing(const WideTerms& terms, Expected& expected) const {
  constexpr auto most = static_cast<long double>(limits::max());
  const bool transposed = p_.alpha < T{0};
  const long double up = transposed ? terms.down : terms.up, down = transposed ? terms.up : terms.down;
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
  if (std::isinf(value))  // from an infinite input: only an overflow of the other sign cancels it
    return append_to(expected, value > 0 ? infinity : -infinity, 0,
                     (value > 0 ? falls : rises) ? Expected::not_a_number : Expected::nothing);
  // A fused multiply-add may cancel a product beyond the largest number, but not beyond twice that.
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

namespace {

constexpr double u = 0x1p-24, tiny = 0x1p-149, largest = std::numeric_limits<float>::max();

struct Format {
  int digits, least;  // bits of the significand; exponent of the smallest normal number
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

double at(Element element, const void* data, std::int64_t offset) {
  return load_as_double(
      element, static_cast<const char*>(data) + offset * static_cast<std::int64_t>(size_of(element)));
}

// Returns the error of an activation relative to its argument: f32 functions are accurate to 20 bits, and
// GELU's approximation may use a GPU's approximate tanh, which is accurate to 11 bits.
double error_of(Activation activation) {
  if (activation == Activation::none || activation == Activation::relu) return 0;
  return activation == Activation::gelu_tanh ? 0x1p-11 : 0x1p-20;
}

// Returns the largest loss of small elements to the parts' range for which the parts are used
// (emulated_fp32.hpp). For normally distributed elements it is less than 2⁻³⁰.
double lost_in_range(Compute compute, double k) { return is_emulated_fp32(compute) ? range_allowance(k) : 0; }

double always(const MixedProblem& p, double k) {
  const double count = k + 16;
  double out = count * u < 1 ? count * u / (1 - count * u) : infinity;
  if (p.compute == Compute::tf32) out += 0x1.02p-9;
  out += lost_in_emulation(p.compute) + lost_in_range(p.compute, k);
  if (!is_fp8(p.a.element)) return out;
  const double blocks = std::ceil(k / 32), of_one = 34 * 0x1p-13;
  return out + of_one * (p.fast ? blocks : std::min(4.0, blocks));
}

double for_random(const MixedProblem& p, double k, double lambda) {
  const double rms = std::numbers::pi / 2 / std::sqrt(k), partial = std::min(1.0, lambda * rms);
  const double blocks = std::ceil(k / (p.compute == Compute::tf32 || p.compute == Compute::tf32x3 ? 8 : 16));
  double out = u * partial * (2 * blocks + lambda * std::sqrt(k + 17));
  // The deviation of the loss of two truncated operands from its mean, which stray_of_sum() adds.
  if (p.compute == Compute::tf32) out += 0x1p-10 * std::min(1.0, lambda * rms / 2);
  out += lost_in_emulation(p.compute) * partial;
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

double applied_exactly(const PostOp& post_op, double x) {
  switch (post_op.activation) {
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

double sum_growth(const MixedProblem& p, const Arguments& arguments, Data data) {
  if (p.a.element == Element::i8 || p.k == 0) return 0;
  const auto k = static_cast<double>(p.k);
  if (data == Data::any) return always(p, k);
  const double elements =
      std::max(1.0, static_cast<double>(arguments.dim("m")) * static_cast<double>(arguments.dim("n")));
  const double lambda = lambda_of(elements, k + 3);
  return std::min(always(p, k), for_random(p, k, lambda));
}

MixedBound::MixedBound(const MixedProblem& p, const Arguments& arguments, Data data, const Slack& slack)
    : p_(p),
      growth_(sum_growth(p, arguments, data) + slack.growth),
      always_(sum_growth(p, arguments, Data::any) + slack.growth),
      own_(p.a.element == Element::i8 ? 0 : static_cast<double>(p.k) * 0x1p-53),
      exact_within_(slack.growth > 0      ? 0
                    : is_fp8(p.a.element) ? 0x1p13
                                          : 0x1p24),
      slack_(slack) {}

MixedBound::After MixedBound::after(std::int64_t i, std::int64_t j) const {
  After out;
  out.factor = p_.alpha;
  if (p_.scale_a != nullptr && p_.k != 0) out.factor *= p_.scale_a[i * p_.scale_a_stride];
  if (p_.scale_b != nullptr && p_.k != 0) out.factor *= p_.scale_b[j * p_.scale_b_stride];
  if (p_.beta != 0)
    out.added = p_.beta * at(p_.c0.element, p_.c0.data, i * p_.c0.row_stride + j * p_.c0.col_stride);
  if (p_.bias != nullptr)
    out.bias = at(p_.bias_element, p_.bias, i * p_.bias_row_stride + j * p_.bias_col_stride);
  return out;
}

// Sums of i8 are exact. Only elements with f32's range have products beyond it, and only then is each term
// examined.
Terms MixedBound::terms_of(std::int64_t i, std::int64_t j, double sum, double magnitude) const {
  if (p_.a.element == Element::i8 || (std::isfinite(sum) && magnitude < slack_.most / 4)) {
    const double size = p_.a.element == Element::i8 ? std::fabs(sum) : magnitude;
    return {(size + sum) / 2, (size - sum) / 2, size};
  }
  Terms out;
  for (std::int64_t l = 0; l < p_.k; ++l) {
    const double term = at(p_.a.element, p_.a.data, i * p_.a.row_stride + l * p_.a.col_stride) *
                        at(p_.b.element, p_.b.data, l * p_.b.row_stride + j * p_.b.col_stride);
    out.plus |= term == infinity;
    out.minus |= term == -infinity;
    if (!std::isfinite(term)) continue;
    (term > 0 ? out.above : out.below) += std::fabs(term);
    out.largest = std::max(out.largest, std::fabs(term));
  }
  return out;
}

// f32's fused multiply-add may cancel a product beyond the largest number, but not beyond twice that. A
// tensor core may hold the products of a step in a wider range.
constexpr double brought_back = 2 * largest * (1 + 4 * u);

// Returns the non-finite values that α·s_a·s_b·sum + β·c0 + bias may have: each partial sum, and each sum of
// scaled terms, is an f32. `strays`: the error bound of the sum.
Reach MixedBound::reach_of(const Terms& terms, const After& after, double sum, double strays) const {
  const double margin = 1 + always_ + 8 * u, factor = after.factor;
  const bool strict = p_.a.element == Element::f32 && p_.compute == Compute::strict;
  const auto finite = [](double x) { return std::isfinite(x) ? x : 0; };
  Reach out;
  if (terms.plus || terms.minus) out = {false, terms.plus, terms.minus};
  out = out.overflowing(terms.above * margin > slack_.most, terms.below * margin > slack_.most);
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

// True for sums of integers within range, and of zeros.
bool MixedBound::is_exact(double magnitude, bool whole) const {
  if (p_.a.element == Element::i8 || magnitude == 0) return true;
  return whole && magnitude <= exact_within_ && !(p_.compute != Compute::strict && magnitude > 0x1p22);
}

double MixedBound::stray_of_sum(double sum, double magnitude, const Terms* found) const {
  double strays = growth_ * magnitude + slack_.floor;
  // If a rung's result is finite, no partial sum exceeded f32, so each of its roundings is small.
  if (found != nullptr && found->largest <= brought_back)
    strays = std::min(strays, always_ * 2 * brought_back);
  if (p_.compute == Compute::tf32) strays += 0x1.02p-10 * std::fabs(sum);
  return strays;
}

// Returns the error bound of the value before the activation.
double MixedBound::stray(const After& after, double sum, double magnitude, bool whole,
                         const Terms* found) const {
  const double factor = std::fabs(after.factor), terms = std::fabs(after.added) + std::fabs(after.bias);
  // Multiples of a quarter that stay within the significand are exact, in any order.
  const auto quarters = [](double x) { return is_whole(4 * x); };
  const bool exact_sum = is_exact(magnitude, whole);
  if (exact_sum && quarters(after.factor) && quarters(after.added) && quarters(after.bias) &&
      quarters(p_.beta) && 4 * std::max(1.0, factor) * std::max(magnitude, 1.0) + 4 * terms <= 0x1p24)
    return 0;
  const double strays = exact_sum ? 0 : stray_of_sum(sum, magnitude, found);
  // Roundings in the conversion of i32 to f32, in each product and in each sum.
  const double roundings = 8 * u * (factor * (std::fabs(sum) + strays) + terms);
  const double underflow = (static_cast<double>(p_.k) * factor + factor + 8) * tiny;
  return factor * (strays + own_ * magnitude) + roundings + underflow;
}

// Appends an i32 result of i8, modulo 2^32.
void MixedBound::append_whole(const After& after, double sum, Expected& expected) const {
  const auto bits = [](double x) { return static_cast<std::uint32_t>(static_cast<std::int64_t>(x)); };
  const auto value =
      static_cast<std::int32_t>(bits(p_.alpha) * bits(sum) + bits(after.added) + bits(after.bias));
  append_to(expected, applied_exactly(p_.post_op, value), 0);
}

void MixedBound::append(std::int64_t i, std::int64_t j, double sum, double magnitude, bool whole,
                        Expected& expected) const {
  const After after = this->after(i, j);
  // Integer sums are modulo 2^32, whatever C's element is.
  if (p_.a.element == Element::i8)
    sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
  if (p_.c_element == Element::i32) return append_whole(after, sum, expected);
  const double before = after.factor * sum + after.added + after.bias;
  if (std::isnan(sum) || std::isnan(after.factor) || std::isnan(after.added) || std::isnan(after.bias))
    return append_reached(Reach::nothing_but_nan(), before, 0, expected);
  const double terms =
      magnitude * std::max(1.0, std::fabs(after.factor)) + std::fabs(after.added) + std::fabs(after.bias);
  // Far from f32's largest number nothing overflows, in any order.
  if (terms < slack_.most / 4)
    return append_reached({}, before, stray(after, sum, magnitude, whole, nullptr), expected);
  const Terms found = terms_of(i, j, sum, magnitude);
  double of_sum = 0;
  if (!is_exact(magnitude, whole))
    of_sum = stray_of_sum(sum, magnitude, &found) + own_ * magnitude + static_cast<double>(p_.k) * tiny;
  const Reach reach = reach_of(found, after, sum, of_sum);
  append_reached(reach, before, reach.number ? stray(after, sum, magnitude, whole, &found) : 0, expected);
}

// `before`: the exact argument of the activation, `strays`: the error bound of a correct rung's argument.
void MixedBound::append_reached(const Reach& reach, double before, double strays, Expected& expected) const {
  Reach found = reach.after(p_.post_op);
  const Activation activation = p_.post_op.activation;
  const bool relu = activation == Activation::relu, bent = !relu && activation != Activation::none;
  if (bent) strays = steepest * strays + error_of(activation) * std::fabs(before);
  const double exact = relu ? before : applied_exactly(p_.post_op, before);
  const auto converted = [&](double x) { return rounded_to(p_.c_element, relu ? std::max(x, 0.0) : x); };
  double lower = converted(exact - strays), upper = converted(exact + strays);
  if (p_.c_element == Element::i8) {
    if (!found.number) lower = infinity, upper = -infinity;
    for (const auto& [reached, x] : {std::pair{found.plus, 127.0}, {found.minus, -128.0}, {found.nan, 0.0}})
      if (reached) lower = std::min(lower, x), upper = std::max(upper, x);
    found = {true, false, false, false, found.nought};
  }
  found.append(lower, upper, p_.c_element == Element::i8 ? 128 : format_of(p_.c_element).most, expected);
}

namespace {

constexpr double unit = 0x1p-53;
constexpr double of_functions = 0x1p-49,
                 of_reference = 0x1p-51;  // times |z|: errors of a rung's functions, and of the reference's

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
  return whole ? 0 : bound + 1.01 * (2 * unit * std::fabs(z) + unit * bound);  // z is rounded here, too
}

// Replaces the last element.
void run_epilogue(const PostOp& post_op, double bias, Expected& expected) {
  constexpr double most = std::numeric_limits<double>::max();
  const double value = expected.value.back(), bound = expected.bound.back();
  Reach reach = reach_of(value, expected.beyond.back());
  double z = value, strays = bound;
  if (reach.number && std::isfinite(bias)) {
    const long double sum = static_cast<long double>(value) + bias;  // may exceed a double
    const auto exact = static_cast<double>(std::clamp<long double>(sum, -most, most));
    strays = strays_of(value, bound, bias, exact);
    z = exact;
    const bool over = std::fabs(sum) + strays > static_cast<long double>(most);
    reach.number = std::fabs(sum) - strays <= static_cast<long double>(most);
    reach.plus |= over && sum > 0;
    reach.minus |= over && sum < 0;
  }
  reach = reach.with(bias).after(post_op);
  const Activation activation = post_op.activation;
  const bool relu = activation == Activation::relu, bent = activation != Activation::none && !relu;
  if (bent)
    strays = steepest * strays + (of_functions + of_reference) * std::fabs(z) +
             4 * std::numeric_limits<double>::denorm_min();
  const double right = applied_exactly(post_op, z);
  expected.value.pop_back();
  expected.bound.pop_back();
  expected.beyond.pop_back();
  const bool whole = reach.number && !reach.nought && !(relu && z < strays);
  if (!whole) {
    const double from = relu ? std::max(z - strays, 0.0) : right - strays,
                 to = relu ? std::max(z + strays, 0.0) : right + strays;
    return reach.append(from, to, most, expected);
  }
  // Centred on the value itself: the interval's midpoint may differ from it in the last bit.
  append_to(expected, right, strays, reach.beyond());
}

}  // namespace

template <class T>
EpilogueBound<T>::EpilogueBound(const Arguments& arguments) {
  if (!is_plain(arguments)) after_ = EpilogueProblem<T>::of(arguments, nullptr);
}

template <class T>
void EpilogueBound<T>::apply(std::int64_t i, std::int64_t j, Expected& expected) const {
  if (!after_) return;
  if constexpr (std::is_integral_v<T>) {
    double& value = expected.value.back();
    value = with_epilogue(*after_, 0, i, j, static_cast<T>(value));
  } else {
    const double bias = after_->bias == nullptr ? 0 : after_->bias[place(after_->of_bias, 0, i, j)];
    run_epilogue(after_->post_op, bias, expected);
  }
}

template class EpilogueBound<double>;
template class EpilogueBound<std::int32_t>;

}  // namespace tessera::matmul
