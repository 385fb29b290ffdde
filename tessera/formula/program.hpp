// SPDX-License-Identifier: Apache-2.0
// A formula as a flat program of one element type, which a kernel takes by value and the CPU runs on many
// points at a time. Equal subexpressions are computed once; what is known beforehand is folded only where
// folding changes no bit.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include "tessera/formula/operators.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::formula {

// An operand is a register, an input or a constant: three ranges of one byte.
inline constexpr int max_registers = 64, max_inputs = 32, max_constants = 128, max_steps = 256;
inline constexpr int first_input = max_registers, first_constant = max_registers + max_inputs;

struct Step {
  Op op = Op::number;
  std::uint8_t a = 0, b = 0, c = 0;  // operands, as many as the operator takes
  std::uint8_t to = 0;               // a register
};

template <class T>
struct Program {
  T constants[max_constants] = {};
  Step steps[max_steps] = {};
  std::int16_t step_count = 0;
  std::uint8_t register_count = 0, input_count = 0, constant_count = 0;
  std::uint8_t result = 0;  // an operand: "x" and "2" are programs without a step
};

// `inputs` are the variables' names, in the order in which evaluation is given their values. Throws Error
// for a variable that is none of them, with its place in the text, and for a formula that needs too much.
template <class T>
Program<T> compile(const Tree& tree, const std::vector<std::string>& inputs);

// The same with a step for each operation of constants, so that their rounding can be followed; with
// constants computed in advance if that is too much.
Program<double> compile_unfolded(const Tree& tree, const std::vector<std::string>& inputs);

// Returns the value at one point; `inputs` in the order that compile() was given. Kernels call interpret()
// (interpret.hpp).
template <class T>
T evaluate(const Program<T>& program, std::span<const T> inputs);

extern template float evaluate(const Program<float>&, std::span<const float>);
extern template double evaluate(const Program<double>&, std::span<const double>);
extern template Program<float> compile(const Tree&, const std::vector<std::string>&);
extern template Program<double> compile(const Tree&, const std::vector<std::string>&);

}  // namespace tessera::formula
