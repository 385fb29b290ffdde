// SPDX-License-Identifier: Apache-2.0
#include "bounded.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::integration {
namespace {

using formula::Op;
using Real = long double;
constexpr Real infinite = std::numeric_limits<Real>::infinity(), pi = 3.14159265358979323846264338327950288L;

// The shorter type: half a unit of its last place, and its smallest number.
struct ShortFormat {
  Real u, least;
  Real root;  // error bound of its square roots, in u
};

// Returns the value, with the error from its operands and `roundings` halves of a unit of its own. Rounding
// in the longer type is 2^-11 of that or less: an eighth of a percent covers it many times.
Bounded rounded(Real value, Real error, ShortFormat type, Real roundings = 1) {
  if (std::isnan(error)) error = infinite;
  return {value, error * 1.00125L + roundings * type.u * (std::fabs(value) + error) * 1.00125L + type.least};
}

// Error bounds of the project's own functions and of the C library's, in halves of a unit.
constexpr Real own = 3, library = 64;

template <class F>
Bounded monotonic(F f, Bounded a, ShortFormat type, Real roundings, Real from = -infinite,
                  Real to = infinite) {
  const Real value = f(a.value);
  const Real low = f(std::clamp(a.value - a.error, from, to)),
             high = f(std::clamp(a.value + a.error, from, to));
  return rounded(value, std::max(std::fabs(high - value), std::fabs(value - low)), type, roundings);
}

// For f with |f(x) - f(y)| ≤ |x - y|, and never more than 2.
template <class F>
Bounded gentle(F f, Bounded a, ShortFormat type) {
  return rounded(f(a.value), std::min<Real>(a.error, 2), type, own);
}

// For a function that rises and falls: twice its change at both ends, a bound if the error is small against
// it.
template <class F>
Bounded other(F f, Bounded a, ShortFormat type) {
  const Real value = f(a.value);
  const Real moved =
      std::max(std::fabs(f(a.value + a.error) - value), std::fabs(f(a.value - a.error) - value));
  return rounded(value, a.error == 0 ? 0 : 2 * moved, type, library);
}

Bounded product(Bounded a, Bounded b, ShortFormat type) {
  const Real error = std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
  return rounded(a.value * b.value, error, type);
}

Bounded quotient(Bounded a, Bounded b, ShortFormat type) {
  const Real value = a.value / b.value, nearest = std::fabs(b.value) - b.error;
  const Real error = a.error == 0 && b.error == 0 ? 0 : (a.error + std::fabs(value) * b.error) / nearest;
  return rounded(value, nearest > 0 || b.error == 0 ? error : infinite, type);
}

Bounded tangent(Bounded a, ShortFormat type) {
  const auto f = [](Real x) { return std::tan(x); };
  const bool pole =
      std::floor((a.value - a.error) / pi + 0.5L) != std::floor((a.value + a.error) / pi + 0.5L);
  return pole ? Bounded{f(a.value), infinite} : monotonic(f, a, type, own);
}

// For f that is monotonic in each operand, so the corners are the extremes.
template <class F>
Bounded cornered(F f, Bounded a, Bounded b, ShortFormat type) {
  const Real value = f(a.value, b.value);
  Real error = 0;
  for (const Real x : {a.value - a.error, a.value + a.error})
    for (const Real y : {b.value - b.error, b.value + b.error}) {
      const Real off = std::fabs(f(x, y) - value);
      error = std::isnan(off) && (a.error != 0 || b.error != 0) ? infinite : std::max(error, off);
    }
  return rounded(value, a.error == 0 && b.error == 0 ? 0 : error, type, own);
}

template <class F>
Bounded steps(F f, Bounded a) {
  const Real value = f(a.value);
  return {value, std::max(std::fabs(f(a.value + a.error) - value), std::fabs(f(a.value - a.error) - value))};
}

// Returns 1 or 0; open: the operands' errors allow both.
Bounded truth(bool holds, bool open) { return {holds ? 1.0L : 0.0L, open ? 1.0L : 0.0L}; }

Bounded chosen(Bounded condition, Bounded yes, Bounded no) {
  if (condition.error == 0) return condition.value != 0 ? yes : no;
  return {condition.value != 0 ? yes.value : no.value,
          std::fabs(yes.value - no.value) + std::max(yes.error, no.error)};
}

Bounded one_operand(Op op, Bounded a, ShortFormat t) {
  const auto plain = [&](auto f, Real roundings = own, Real from = -infinite, Real to = infinite) {
    return monotonic(f, a, t, roundings, from, to);
  };
  switch (op) {
    case Op::neg:
      return {-a.value, a.error};
    case Op::abs:
      return {std::fabs(a.value), a.error};
    case Op::sqrt:
      return plain([](Real x) { return std::sqrt(x); }, t.root, 0);
    case Op::floor:
      return steps([](Real x) { return std::floor(x); }, a);
    case Op::ceil:
      return steps([](Real x) { return std::ceil(x); }, a);
    case Op::trunc:
      return steps([](Real x) { return std::trunc(x); }, a);
    case Op::round:
      return steps([](Real x) { return std::round(x); }, a);
    case Op::sign:
      return steps([](Real x) { return Real((x > 0) - (x < 0)); }, a);
    case Op::logic_not:
      return truth(a.value == 0, std::fabs(a.value) <= a.error && a.error > 0);
    case Op::exp:
      return plain([](Real x) { return std::exp(x); });
    case Op::exp2:
      return plain([](Real x) { return std::exp2(x); });
    case Op::expm1:
      return plain([](Real x) { return std::expm1(x); });
    case Op::log:
      return plain([](Real x) { return std::log(x); }, own, 0);
    case Op::log2:
      return plain([](Real x) { return std::log2(x); }, own, 0);
    case Op::log10:
      return plain([](Real x) { return std::log10(x); }, own, 0);
    case Op::log1p:
      return plain([](Real x) { return std::log1p(x); }, own, -1);
    case Op::sin:
      return gentle([](Real x) { return std::sin(x); }, a, t);
    case Op::cos:
      return gentle([](Real x) { return std::cos(x); }, a, t);
    case Op::tan:
      return tangent(a, t);
    case Op::asin:
      return plain([](Real x) { return std::asin(x); }, own, -1, 1);
    case Op::acos:
      return plain([](Real x) { return std::acos(x); }, own, -1, 1);
    case Op::atan:
      return plain([](Real x) { return std::atan(x); });
    case Op::sinh:
      return plain([](Real x) { return std::sinh(x); });
    case Op::cosh:
      return other([](Real x) { return std::cosh(x); }, a, t);
    case Op::tanh:
      return plain([](Real x) { return std::tanh(x); });
    case Op::asinh:
      return plain([](Real x) { return std::asinh(x); });
    case Op::acosh:
      return plain([](Real x) { return std::acosh(x); }, own, 1);
    case Op::atanh:
      return plain([](Real x) { return std::atanh(x); }, own, -1, 1);
    case Op::cbrt:
      return plain([](Real x) { return std::cbrt(x); });
    case Op::erf:
      return plain([](Real x) { return std::erf(x); }, library);
    case Op::erfc:
      return plain([](Real x) { return std::erfc(x); }, library);
    case Op::tgamma:
      return other([](Real x) { return std::tgamma(x); }, a, t);
    case Op::lgamma:
      return other([](Real x) { return std::lgamma(x); }, a, t);
    case Op::j0:
      return other([](Real x) { return j0l(x); }, a, t);
    case Op::j1:
      return other([](Real x) { return j1l(x); }, a, t);
    case Op::y0:
      return other([](Real x) { return y0l(x); }, a, t);
    case Op::y1:
      return other([](Real x) { return y1l(x); }, a, t);
    default:
      return {0, infinite};
  }
}

Bounded two_operands(Op op, Bounded a, Bounded b, ShortFormat t) {
  const Real apart = std::fabs(a.value - b.value), unsure = a.error + b.error;
  const bool open = apart <= unsure && unsure > 0;
  const auto is_true = [](Bounded x) {
    return truth(x.value != 0, std::fabs(x.value) <= x.error && x.error > 0);
  };
  switch (op) {
    case Op::add:
      return rounded(a.value + b.value, unsure, t);
    case Op::sub:
      return rounded(a.value - b.value, unsure, t);
    case Op::mul:
      return product(a, b, t);
    case Op::div:
      return quotient(a, b, t);
    case Op::min:
    case Op::fmin:
      return {std::fmin(a.value, b.value), std::max(a.error, b.error)};
    case Op::max:
    case Op::fmax:
      return {std::fmax(a.value, b.value), std::max(a.error, b.error)};
    case Op::fmod:
      return unsure == 0 ? Bounded{std::fmod(a.value, b.value), 0}
                         : Bounded{std::fmod(a.value, b.value), std::fabs(b.value) + b.error};
    case Op::less:
      return truth(a.value < b.value, open);
    case Op::less_equal:
      return truth(a.value <= b.value, open);
    case Op::equal:
      return truth(a.value == b.value, open);
    case Op::not_equal:
      return truth(a.value != b.value, open);
    case Op::logic_and:
      return truth(a.value != 0 && b.value != 0, is_true(a).error + is_true(b).error > 0);
    case Op::logic_or:
      return truth(a.value != 0 || b.value != 0, is_true(a).error + is_true(b).error > 0);
    case Op::pow:
      return cornered([](Real x, Real y) { return std::pow(x, y); }, a, b, t);
    case Op::atan2:
      return cornered([](Real y, Real x) { return std::atan2(y, x); }, a, b, t);
    case Op::hypot:
      return rounded(std::hypot(a.value, b.value), unsure, t, own);
    default:
      return {0, infinite};
  }
}

Bounded result_of(Op op, Bounded a, Bounded b, Bounded c, ShortFormat t) {
  if (op == Op::select) return chosen(a, b, c);
  if (op == Op::fma) {
    const Real error =
        std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error + c.error;
    return rounded(a.value * b.value + c.value, error, t);
  }
  return formula::arity(op) == 1 ? one_operand(op, a, t) : two_operands(op, a, b, t);
}

}  // namespace

template <class T>
Bounded bounded(const formula::Program<T>& program, Bounded x, int root) {
  return bounded(program, std::span<const Bounded>(&x, 1), root);
}

template <class T>
Bounded bounded(const formula::Program<T>& program, std::span<const Bounded> inputs, int root) {
  const ShortFormat type{std::numeric_limits<T>::epsilon() / 2, std::numeric_limits<T>::denorm_min(),
                         static_cast<Real>(root)};
  Bounded registers[formula::max_registers];
  const auto value = [&](std::uint8_t operand) -> Bounded {
    if (operand < formula::first_input) return registers[operand];
    if (operand < formula::first_constant) return inputs[operand - formula::first_input];
    return {program.constants[operand - formula::first_constant], 0};
  };
  for (int i = 0; i < program.step_count; ++i) {
    const formula::Step& step = program.steps[i];
    registers[step.to] = result_of(step.op, value(step.a), value(step.b), value(step.c), type);
  }
  return value(program.result);
}

template Bounded bounded(const formula::Program<double>&, std::span<const Bounded>, int);
template Bounded bounded(const formula::Program<float>&, Bounded, int);
template Bounded bounded(const formula::Program<double>&, Bounded, int);

}  // namespace tessera::integration
