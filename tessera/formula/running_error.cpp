// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/running_error.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include "tessera/formula/interpret.hpp"
#include "tessera/formula/open_steps.hpp"

namespace tessera::formula {
namespace {

constexpr double unit = 0x1p-53, infinity = std::numeric_limits<double>::infinity();
constexpr double own = 2 * unit, library = 16 * unit;  // of the value: what functions may be off
// Near the smallest number rounding is no share of the value any more, and what it took off is no number
// either.
constexpr double smallest = std::numeric_limits<double>::denorm_min(), shares_end = 0x1p-968;

// What is lost where a value falls below those of which it would be a share.
double lost_below(Op op, double a, double b, double value) {
  if (!(std::fabs(value) < shares_end)) return 0;
  switch (op) {
    case Op::mul:
      return a != 0 && b != 0 ? smallest : 0;
    case Op::div:
      return a != 0 && std::isfinite(b) ? smallest : 0;
    case Op::pow:
    case Op::exp:
    case Op::exp2:
    case Op::expm1:
    case Op::erfc:
      return value != 0 ? 2 * smallest : 0;  // what is 0 may be less than the smallest by far
    default:
      return 0;
  }
}

double residual_of_sum(double a, double b, double sum) {
  const double other = sum - a;
  return std::fabs((a - (sum - other)) + (b - other));
}

// What the function's value moves by when its argument does, by the slope at the argument.
double moved_by_slope(Op op, double a, double error, double value) {
  const double inside = std::fmax((1 - std::fabs(a)) * (1 + std::fabs(a)), error);
  switch (op) {
    case Op::sqrt:
      return error < a ? error / (2 * value) : std::sqrt(error);
    case Op::cbrt:
      return error < std::fabs(a) ? error / (3 * value * value) : std::cbrt(error);
    case Op::exp:
      return value * (error < 0.5 ? error : std::expm1(error));
    case Op::exp2:
      return value * (error < 0.5 ? error : std::exp2(error));
    case Op::expm1:
      return (value + 1) * (error < 0.5 ? error : std::expm1(error));
    case Op::log:
      return error < a ? error / (a - error) : infinity;
    case Op::log2:
      return error < a ? error / (a - error) / std::numbers::ln2 : infinity;
    case Op::log10:
      return error < a ? error / (a - error) / std::numbers::ln10 : infinity;
    case Op::log1p:
      return error < 1 + a ? error / (1 + a - error) : infinity;
    case Op::sin:
    case Op::cos:
      return std::fmin(error, 2);
    case Op::tan:
      return error * (1 + std::fabs(value)) < 0.5 ? error * (1 + value * value) : infinity;
    case Op::asin:
    case Op::acos:
      return error / std::sqrt(inside);
    case Op::atan:
      return std::fmin(error / (1 + a * a), 4);
    case Op::sinh:
    case Op::cosh:
      return (std::fabs(value) + 1) * (error < 0.5 ? error : std::expm1(error));
    case Op::tanh:
      return error * (1 - value) * (1 + value);
    case Op::asinh:
      return error / std::hypot(1, a);
    case Op::acosh:
      return error / std::sqrt(std::fmax((a - 1) * (a + 1), error));
    case Op::atanh:
      return error / inside;
    case Op::erf:
    case Op::erfc:
      return 1.13 * error * std::exp(-a * a);
    default:  // steps, and functions whose slope costs more than two values
      return std::fmax(std::fabs(apply<double>(op, a + error, 0, 0) - value),
                       std::fabs(apply<double>(op, a - error, 0, 0) - value));
  }
}

double of_one(Op op, Running a, double value) {
  const double moved = a.error == 0 ? 0 : moved_by_slope(op, a.value, a.error, value);
  switch (op) {
    case Op::neg:
    case Op::abs:
      return a.error;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
      // Among numbers that are whole themselves a sum with the error is rounded, too.
      return a.error > 0 && std::fabs(a.value) >= 0x1p51 ? std::ceil(a.error) : moved;
    case Op::sign:
    case Op::logic_not:
      return moved;
    case Op::sqrt:
      return moved + (value > 0 ? std::fabs(std::fma(value, value, -a.value)) / (2 * value) : 0);
    default:
      return moved + (same_everywhere(op) ? own : library) * std::fabs(value);
  }
}

double of_quotient(Running a, Running b, double value) {
  const double rounded = std::fabs(std::fma(value, b.value, -a.value)) / std::fabs(b.value);
  if (a.error == 0 && b.error == 0) return rounded;
  const double nearest = std::fabs(b.value) - b.error;
  return nearest > 0 ? rounded + (a.error + std::fabs(value) * b.error) / nearest : infinity;
}

double of_power(Running a, Running b, double value) {
  double moved = 0;
  if (a.error > 0)
    moved += a.error < std::fabs(a.value)
                 ? std::fabs(value * b.value) * a.error / (std::fabs(a.value) - a.error)
                 : std::fabs(std::pow(std::fabs(a.value) + a.error, b.value));
  if (b.error > 0) moved += std::fabs(value * std::log(std::fabs(a.value))) * b.error;
  return moved + own * std::fabs(value);
}

double of_remainder(Running a, Running b) {
  if (a.error == 0 && b.error == 0) return 0;
  const double times = std::trunc(a.value / b.value);
  const double moved = a.error + std::fabs(times) * b.error, left = std::fabs(a.value - times * b.value);
  const bool may_jump = left <= moved || std::fabs(b.value) - left <= moved;
  return may_jump ? std::fabs(b.value) : moved;
}

double of_two(Op op, Running a, Running b, double value) {
  const double both = a.error + b.error;
  const bool open = both > 0 && std::fabs(a.value - b.value) <= both;
  switch (op) {
    case Op::add:
      return both + residual_of_sum(a.value, b.value, value);
    case Op::sub:
      return both + residual_of_sum(a.value, -b.value, value);
    case Op::mul:
      return std::fabs(a.value) * b.error + std::fabs(b.value) * a.error +
             std::fabs(std::fma(a.value, b.value, -value));
    case Op::div:
      return of_quotient(a, b, value);
    case Op::min:
    case Op::max:
    case Op::fmin:
    case Op::fmax:
      return open ? std::fmax(a.error, b.error) : value == a.value ? a.error : b.error;
    case Op::fmod:
      return of_remainder(a, b);
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal:
      return open;
    case Op::logic_and:
    case Op::logic_or:
      return (a.error > 0 && std::fabs(a.value) <= a.error) || (b.error > 0 && std::fabs(b.value) <= b.error);
    case Op::pow:
      return of_power(a, b, value);
    case Op::atan2:
      return (std::fabs(a.value) * b.error + std::fabs(b.value) * a.error) /
                 (a.value * a.value + b.value * b.value) +
             own * std::fabs(value);
    case Op::hypot:
      return both + own * std::fabs(value);
    default:
      return infinity;
  }
}

double of_three(Op op, Running a, Running b, Running c, double value) {
  if (op == Op::fma)
    return std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + c.error + unit * std::fabs(value);
  const bool open = a.error > 0 && std::fabs(a.value) <= a.error;
  if (open) return std::fabs(b.value - c.value) + std::fmax(b.error, c.error);
  return a.value != 0 ? b.error : c.error;
}

// Of a value too large for the type: the logarithm of what its absolute value is at least, which is a number
// where that value is none. -inf: nothing is known.
struct Beyond {
  Running running;
  double least = -infinity;

  bool too_large() const { return std::isinf(running.value); }
  double slack() const { return too_large() ? 0 : running.error; }
  // The logarithms of the nearest to 0 that it may be, and of the farthest where it is a number.
  double low() const { return too_large() ? least : std::log(std::fabs(running.value) - slack()); }
  double high() const { return std::log(std::fabs(running.value) + slack()); }
  double near() const {
    return too_large() ? std::copysign(std::exp(std::fmin(least, 709)), running.value) : running.value;
  }
  // The least that it may be itself.
  double size() const { return too_large() ? std::exp(least) : std::fabs(running.value) - slack(); }
};

// What an operator that grows with its operands' size leaves at least; NaN: nothing is known.
double least_of(Op op, const Beyond& a, const Beyond& b, const Beyond& c) {
  const double x = a.low(), y = b.low();
  switch (op) {
    case Op::select:
      return a.running.value != 0 ? b.least : c.least;
    case Op::add:
    case Op::sub:
      if (a.too_large() && b.too_large()) return std::fmax(x, y);
      // What is added is less than half of it, or it may be anything.
      return a.too_large() ? (b.high() < x - 1 ? x - 1 : -infinity) : a.high() < y - 1 ? y - 1 : -infinity;
    case Op::mul:
      return x + y;
    case Op::div:
      return x - b.high();
    case Op::min:
    case Op::max:
    case Op::fmin:
    case Op::fmax:
      return a.too_large() && b.too_large() ? std::fmin(x, y) : a.too_large() ? x : y;
    case Op::neg:
    case Op::abs:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
      return x;
    case Op::sqrt:
      return x / 2;
    case Op::cbrt:
      return x / 3;
    case Op::exp:
    case Op::expm1:
    case Op::sinh:
    case Op::cosh:
      return a.size() - 1;
    case Op::exp2:
      return a.size() * std::numbers::ln2;
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::log1p:
    case Op::asinh:
    case Op::acosh:
      return std::log(x) - 1;
    case Op::pow:
      return b.too_large() ? -infinity : x * (b.running.value - std::copysign(b.slack(), x));
    default:
      return -infinity;
  }
}

// What the operator makes of operands of which one is at least so large.
double at_least(Op op, const Beyond& a, const Beyond& b, const Beyond& c) {
  if (op == Op::div && b.too_large() && !a.too_large()) return std::exp(a.high() - b.least);
  if (op == Op::pow && a.too_large() && b.running.value < 0)
    return std::exp(a.least * (b.running.value + b.slack()));
  if (op == Op::exp && a.too_large()) return std::exp(-a.size());
  return apply<double>(op, a.near(), b.near(), c.near());
}

// A number of which an operand was too large for one: what it would be at the least that this may be.
double left_by(Op op, const Beyond& a, const Beyond& b, const Beyond& c, double value) {
  const Beyond* const all[] = {&a, &b, &c};
  for (const Beyond* operand : all)
    if (operand->too_large() && !(operand->least > -infinity)) return infinity;
  if (op == Op::select) return a.running.value != 0 ? b.running.error : c.running.error;
  if (op == Op::min || op == Op::fmin || op == Op::max || op == Op::fmax)
    return value == a.running.value ? a.running.error : b.running.error;
  const double there = at_least(op, a, b, c);
  const auto share = [](const Beyond& operand) {
    return operand.too_large() || operand.slack() == 0 ? 0
                                                       : operand.slack() / std::fabs(operand.running.value);
  };
  const double moved = std::fmax(std::fabs(there - value), value == 0 ? std::fabs(there) : 0);
  return moved * 1.001 + std::fabs(there) * (share(a) + share(b));
}

// An overflow on the way to a number: 1/cosh(x) is 0 far out, which is off by no more than 1/cosh(x).
Beyond concluded(Op op, const Beyond& a, const Beyond& b, const Beyond& c, double value, double error,
                 double most) {
  const bool met = a.too_large() || b.too_large() || c.too_large();
  if (std::isinf(value)) {
    const double told = least_of(op, a, b, c);
    const double least = std::isnan(told) ? -infinity : told;
    if (met) return {{value, infinity}, least};
    const bool pole = op == Op::div && b.running.value == 0;
    return {{value, infinity}, pole ? -infinity : std::fmax(std::log(most), least)};
  }
  return {{value, met ? left_by(op, a, b, c, value) : error}};
}

// The error of a step that is taken to be on the right side of its jump.
double decided(Op op, Running a, Running b, Running c) {
  if (op == Op::select) return a.value != 0 ? b.error : c.error;
  return op == Op::fmod ? a.error + std::fabs(std::trunc(a.value / b.value)) * b.error : 0;
}

// What f32 rounds off is what f64 would have kept.
template <class T>
Running followed(const Program<T>& program, std::span<const double> inputs,
                 std::vector<OpenStep>* open = nullptr) {
  constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
  Beyond registers[most_registers];
  const auto operand = [&](std::uint8_t code) -> Beyond {
    if (code < first_input) return registers[code];
    if (code >= first_constant) {
      const auto constant = static_cast<double>(program.constants[code - first_constant]);
      return {{constant,
               constant != 0 && std::fabs(constant) < std::numeric_limits<double>::min() ? smallest : 0}};
    }
    const double given = inputs[code - first_input], taken = static_cast<T>(given);
    return {{taken, std::isinf(taken) ? 0 : std::fabs(given - taken)}};
  };
  for (int i = 0; i < program.step_count; ++i) {
    const Step& step = program.steps[i];
    const int count = arity(step.op);
    const Beyond a = operand(step.a), b = count > 1 ? operand(step.b) : Beyond{},
                 c = count > 2 ? operand(step.c) : Beyond{};
    const double x = a.running.value, y = b.running.value, z = c.running.value;
    const double value = apply<double>(step.op, x, y, z);
    double error = count == 1   ? of_one(step.op, a.running, value)
                   : count == 2 ? of_two(step.op, a.running, b.running, value)
                                : of_three(step.op, a.running, b.running, c.running, value);
    if (open != nullptr)
      if (const auto other = other_outcome(step.op, a.running, b.running, c.running, value)) {
        open->push_back({i, *other});
        error = decided(step.op, a.running, b.running, c.running);
      }
    error += lost_below(step.op, x, y, value);
    double given = value;
    if constexpr (sizeof(T) < sizeof(double)) {
      given = apply<T>(step.op, static_cast<T>(x), static_cast<T>(y), static_cast<T>(z));
      if (std::isfinite(given)) error += std::fabs(given - value);
    }
    registers[step.to] = concluded(step.op, a, b, c, given, error, largest);
  }
  return operand(program.result).running;
}

}  // namespace

Running running_error(const Program<double>& program, std::span<const double> inputs) {
  return followed(program, inputs);
}

Running running_error(const Program<float>& program, std::span<const double> inputs) {
  return followed(program, inputs);
}

Running running_error(const Program<double>& program, std::span<const double> inputs,
                      std::vector<OpenStep>& open) {
  return followed(program, inputs, &open);
}

Running running_error(const Program<float>& program, std::span<const double> inputs,
                      std::vector<OpenStep>& open) {
  return followed(program, inputs, &open);
}

}  // namespace tessera::formula
