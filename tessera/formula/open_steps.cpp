// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/open_steps.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>
#include "tessera/formula/interpret.hpp"

namespace tessera::formula {
namespace {

bool jumps(Op op) {
  switch (op) {
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal:
    case Op::logic_and:
    case Op::logic_or:
    case Op::logic_not:
    case Op::select:
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::sign:
    case Op::fmod:
      return true;
    default:
      return false;
  }
}

bool may_be_zero(Running a) { return a.error > 0 && !(std::fabs(a.value) > a.error); }

std::optional<double> other_step(Op op, Running a, double value) {
  if (!(a.error > 0)) return std::nullopt;
  constexpr double far = std::numeric_limits<double>::infinity();
  // Less than half a unit away is rounded to the value itself.
  for (const double at : {std::nextafter(a.value + a.error, far), std::nextafter(a.value - a.error, -far)})
    if (const double other = apply<double>(op, at, 0, 0); other != value) return other;
  return std::nullopt;
}

std::optional<double> other_remainder(Running a, Running b, double value) {
  if (a.error == 0 && b.error == 0) return std::nullopt;
  const double size = std::fabs(b.value), left = std::fabs(value),
               moved = a.error + std::fabs(std::trunc(a.value / b.value)) * b.error;
  if (left <= moved) return std::copysign(size, a.value);
  if (size - left <= moved) return 0;
  return std::nullopt;
}

// The program's value where one step is given another outcome.
template <class T>
double value_with(const Program<T>& program, std::span<const double> inputs, const OpenStep& open) {
  T registers[most_registers] = {};
  const auto value = [&](std::uint8_t operand) {
    return operand < first_input      ? registers[operand]
           : operand < first_constant ? static_cast<T>(inputs[operand - first_input])
                                      : program.constants[operand - first_constant];
  };
  for (int i = 0; i < program.step_count; ++i) {
    const Step& step = program.steps[i];
    registers[step.to] = i == open.step ? static_cast<T>(open.other)
                                        : apply<T>(step.op, value(step.a), value(step.b), value(step.c));
  }
  return static_cast<double>(value(program.result));
}

template <class T>
double moved(const Program<T>& program, std::span<const double> inputs) {
  std::vector<OpenStep> open;
  const double value = running_error(program, inputs, open).value;
  double out = 0;
  for (const OpenStep& step : open) out += std::fabs(value_with(program, inputs, step) - value);
  return std::isfinite(out) ? out : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

template <class T>
bool has_jumps(const Program<T>& program) {
  return std::any_of(program.steps, program.steps + program.step_count,
                     [](const Step& step) { return jumps(step.op); });
}

std::optional<double> other_outcome(Op op, Running a, Running b, Running c, double value) {
  switch (op) {
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal: {
      const double both = a.error + b.error;
      if (both > 0 && std::fabs(a.value - b.value) <= both) return 1 - value;
      return std::nullopt;
    }
    case Op::logic_and:
    case Op::logic_or:
      if (may_be_zero(a) || may_be_zero(b)) return 1 - value;
      return std::nullopt;
    case Op::logic_not:
      if (may_be_zero(a)) return 1 - value;
      return std::nullopt;
    case Op::select:
      if (may_be_zero(a)) return a.value != 0 ? c.value : b.value;
      return std::nullopt;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::sign:
      return other_step(op, a, value);
    case Op::fmod:
      return other_remainder(a, b, value);
    default:
      return std::nullopt;
  }
}

double moved_by_open_steps(const Program<double>& program, std::span<const double> inputs) {
  return moved(program, inputs);
}

double moved_by_open_steps(const Program<float>& program, std::span<const double> inputs) {
  return moved(program, inputs);
}

template bool has_jumps(const Program<float>&);
template bool has_jumps(const Program<double>&);

}  // namespace tessera::formula
