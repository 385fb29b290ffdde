// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/running_error.hpp"
#include <cmath>
#include <limits>
#include <numbers>
#include "tessera/formula/interpret.hpp"

namespace tessera::formula {
namespace {

constexpr double unit = 0x1p-53, infinity = std::numeric_limits<double>::infinity();
constexpr double own = 2 * unit, library = 16 * unit;  // error bounds of functions, relative to the value
double residual_of_sum(double a, double b, double sum) {
  const double other = sum - a;
  return std::fabs((a - (sum - other)) + (b - other));
}

// Returns the change of the function's value if its argument changes by `error`, from its slope.
double moved_by_slope(Op op, double a, double error, double value) {
  const double inside = std::fmax((1 - std::fabs(a)) * (1 + std::fabs(a)), error);
  switch (op) {
    case Op::sqrt:
      return error < a ? error / (2 * value) : std::sqrt(error);
    case Op::cbrt:
      return error < std::fabs(a) ? error / (3 * value * value) : std::cbrt(error);
    case Op::exp:
      return error < 0.5 ? value * error : std::exp(a + error) - value;  // not 0 · infinity far below 0
    case Op::exp2:
      return error < 0.5 ? value * error : std::exp2(a + error) - value;
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
    case Op::tanh:
    case Op::erf:  // 1 to the last digit: the rest vanishes further out
      if (std::fabs(value) == 1)
        return moved +
               (op == Op::erf ? std::erfc(std::fabs(a.value)) : 2 * std::exp(-2 * std::fabs(a.value)));
      [[fallthrough]];
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

// True if a NaN result comes from an argument outside the function's domain. tgamma is not listed: it is
// undefined only at isolated points.
bool outside(Op op, Running a, Running b, Running c) {
  if (op == Op::select) return a.value != 0 ? b.outside : c.outside;
  if (std::isnan(a.value) || std::isnan(b.value) || std::isnan(c.value))
    return a.outside || b.outside || c.outside;
  return is_one_of(op, {Op::sqrt, Op::log, Op::log2, Op::log10, Op::log1p, Op::asin, Op::acos, Op::acosh,
                        Op::atanh, Op::y0, Op::y1, Op::pow});
}

// True if a finite result depends on a part that overflowed. Comparisons hold of what is too large, too.
bool overflowed(Op op, Running a, Running b, Running c) {
  switch (op) {
    case Op::select:
      return a.value != 0 ? b.overflowed : c.overflowed;
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal:
    case Op::logic_and:
    case Op::logic_or:
      return false;
    default:
      return std::isinf(a.value) || std::isinf(b.value) || std::isinf(c.value) || a.overflowed ||
             b.overflowed || c.overflowed;
  }
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

double error_of(Op op, Running a, Running b, Running c, double value) {
  // Overflowed operands count as exact: 1/cosh(x) is 0 far out, and right.
  if (std::isinf(a.value) || std::isinf(b.value) || std::isinf(c.value))
    return std::isfinite(value) ? 0 : infinity;
  if (!std::isfinite(value)) return infinity;
  const int count = arity(op);
  return count == 1   ? of_one(op, a, value)
         : count == 2 ? of_two(op, a, b, value)
                      : of_three(op, a, b, c, value);
}

// The roundoff of an f32 operation is its difference from the f64 result.
template <class T>
Running followed(const Program<T>& program, std::span<const double> inputs) {
  Running registers[max_registers];
  const auto operand = [&](std::uint8_t code) -> Running {
    if (code < first_input) return registers[code];
    if (code >= first_constant) return {static_cast<double>(program.constants[code - first_constant]), 0};
    const double given = inputs[code - first_input], taken = static_cast<T>(given);
    return {taken, std::isinf(taken) ? 0 : std::fabs(given - taken)};
  };
  for (int i = 0; i < program.step_count; ++i) {
    const Step& step = program.steps[i];
    const int count = arity(step.op);
    const Running a = operand(step.a), b = count > 1 ? operand(step.b) : Running{},
                  c = count > 2 ? operand(step.c) : Running{};
    double value = apply<double>(step.op, a.value, b.value, c.value);
    double error = error_of(step.op, a, b, c, value);
    if constexpr (sizeof(T) < sizeof(double)) {
      const double single =
          apply<T>(step.op, static_cast<T>(a.value), static_cast<T>(b.value), static_cast<T>(c.value));
      if (std::isfinite(single)) error += std::fabs(single - value);
      value = single;
    }
    registers[step.to] = {value, error, std::isnan(value) && outside(step.op, a, b, c),
                          std::isfinite(value) && overflowed(step.op, a, b, c)};
  }
  return operand(program.result);
}

}  // namespace

Running running_error(const Program<double>& program, std::span<const double> inputs) {
  return followed(program, inputs);
}

Running running_error(const Program<float>& program, std::span<const double> inputs) {
  return followed(program, inputs);
}

}  // namespace tessera::formula
