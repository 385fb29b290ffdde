// SPDX-License-Identifier: Apache-2.0
// Runs a program for one point: in kernels, on the executor and on the host alike.
#pragma once
#include "tessera/core/device/thread.hpp"
#include "tessera/formula/elementary.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::formula {
inline namespace TESSERA_UNIT {

// Applies one operator, by its name; operands that it does not take are ignored.
template <class T>
SIMT T apply(Op op, T a, [[maybe_unused]] T b, [[maybe_unused]] T c) {
  switch (op) {
#define TESSERA_FORMULA_CASE_1(name) \
  case Op::name:                     \
    return elementary::name(a);
#define TESSERA_FORMULA_CASE_2(name) \
  case Op::name:                     \
    return elementary::name(a, b);
#define TESSERA_FORMULA_CASE_3(name) \
  case Op::name:                     \
    return elementary::name(a, b, c);
    TESSERA_FORMULA_1(TESSERA_FORMULA_CASE_1)
    TESSERA_FORMULA_2(TESSERA_FORMULA_CASE_2)
    TESSERA_FORMULA_3(TESSERA_FORMULA_CASE_3)
#undef TESSERA_FORMULA_CASE_1
#undef TESSERA_FORMULA_CASE_2
#undef TESSERA_FORMULA_CASE_3
    default:
      return a;
  }
}

template <class T>
SIMT T interpret(const Program<T>& program, const T* inputs) {
  T registers[max_registers];
  registers[0] = T(0);  // the operand that an operator does not take
  const auto value = [&](std::uint8_t operand) {
    return operand < first_input      ? registers[operand]
           : operand < first_constant ? inputs[operand - first_input]
                                      : program.constants[operand - first_constant];
  };
  for (int i = 0; i < program.step_count; ++i) {
    const Step step = program.steps[i];
    registers[step.to] = apply<T>(step.op, value(step.a), value(step.b), value(step.c));
  }
  return value(program.result);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::formula
