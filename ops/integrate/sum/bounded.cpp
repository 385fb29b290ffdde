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

using Function = Real (*)(Real);

Bounded monotonic(Function f, Bounded a, ShortFormat type, Real roundings, Real from = -infinite,
                  Real to = infinite) {
  const Real value = f(a.value);
  const Real low = f(std::clamp(a.value - a.error, from, to)),
             high = f(std::clamp(a.value + a.error, from, to));
  return rounded(value, std::max(std::fabs(high - value), std::fabs(value - low)), type, roundings);
}

// For f with |f(x) - f(y)| ≤ |x - y|, and never more than 2.
Bounded gentle(Function f, Bounded a, ShortFormat type) {
  return rounded(f(a.value), std::min<Real>(a.error, 2), type, own);
}

// For a function that rises and falls: twice its change at both ends, a bound if the error is small against
// it.
Bounded other(Function f, Bounded a, ShortFormat type) {
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
  const bool pole =
      std::floor((a.value - a.error) / pi + 0.5L) != std::floor((a.value + a.error) / pi + 0.5L);
  return pole ? Bounded{std::tan(a.value), infinite} : monotonic(tanl, a, type, own);
}

// For f that is monotonic in each operand, so the corners are the extremes.
Bounded cornered(Real (*f)(Real, Real), Bounded a, Bounded b, ShortFormat type) {
  const Real value = f(a.value, b.value);
  Real error = 0;
  for (const Real x : {a.value - a.error, a.value + a.error})
    for (const Real y : {b.value - b.error, b.value + b.error}) {
      const Real off = std::fabs(f(x, y) - value);
      error = std::isnan(off) && (a.error != 0 || b.error != 0) ? infinite : std::max(error, off);
    }
  return rounded(value, a.error == 0 && b.error == 0 ? 0 : error, type, own);
}

Bounded steps(Function f, Bounded a) {
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

enum class Kind { monotonic, gentle, other, steps };

struct OfOne {
  Op op;
  Function f;
  Kind kind;
  Real roundings = own, from = -infinite, to = infinite;  // a monotonic one's error and domain
};

constexpr OfOne functions[] = {{Op::exp, expl, Kind::monotonic},
                               {Op::log, logl, Kind::monotonic, own, 0},
                               {Op::sin, sinl, Kind::gentle},
                               {Op::cos, cosl, Kind::gentle},
                               {Op::floor, floorl, Kind::steps},
                               {Op::ceil, ceill, Kind::steps},
                               {Op::trunc, truncl, Kind::steps},
                               {Op::round, roundl, Kind::steps},
                               {Op::sign, [](Real x) { return Real((x > 0) - (x < 0)); }, Kind::steps},
                               {Op::exp2, exp2l, Kind::monotonic},
                               {Op::expm1, expm1l, Kind::monotonic},
                               {Op::log2, log2l, Kind::monotonic, own, 0},
                               {Op::log10, log10l, Kind::monotonic, own, 0},
                               {Op::log1p, log1pl, Kind::monotonic, own, -1},
                               {Op::asin, asinl, Kind::monotonic, own, -1, 1},
                               {Op::acos, acosl, Kind::monotonic, own, -1, 1},
                               {Op::atan, atanl, Kind::monotonic},
                               {Op::sinh, sinhl, Kind::monotonic},
                               {Op::cosh, coshl, Kind::other},
                               {Op::tanh, tanhl, Kind::monotonic},
                               {Op::asinh, asinhl, Kind::monotonic},
                               {Op::acosh, acoshl, Kind::monotonic, own, 1},
                               {Op::atanh, atanhl, Kind::monotonic, own, -1, 1},
                               {Op::cbrt, cbrtl, Kind::monotonic},
                               {Op::erf, erfl, Kind::monotonic, library},
                               {Op::erfc, erfcl, Kind::monotonic, library},
                               {Op::tgamma, tgammal, Kind::other},
                               {Op::lgamma, lgammal, Kind::other},
                               {Op::j0, j0l, Kind::other},
                               {Op::j1, j1l, Kind::other},
                               {Op::y0, y0l, Kind::other},
                               {Op::y1, y1l, Kind::other}};

Bounded one_operand(Op op, Bounded a, ShortFormat t) {
  switch (op) {
    case Op::neg:
      return {-a.value, a.error};
    case Op::abs:
      return {std::fabs(a.value), a.error};
    case Op::sqrt:
      return monotonic(sqrtl, a, t, t.root, 0);
    case Op::tan:
      return tangent(a, t);
    case Op::logic_not:
      return truth(a.value == 0, std::fabs(a.value) <= a.error && a.error > 0);
    default:
      break;
  }
  const auto* const known = std::ranges::find(functions, op, &OfOne::op);
  if (known == std::end(functions)) return {0, infinite};
  switch (known->kind) {
    case Kind::gentle:
      return gentle(known->f, a, t);
    case Kind::other:
      return other(known->f, a, t);
    case Kind::steps:
      return steps(known->f, a);
    default:
      return monotonic(known->f, a, t, known->roundings, known->from, known->to);
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
      return cornered(powl, a, b, t);
    case Op::atan2:
      return cornered(atan2l, a, b, t);
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
