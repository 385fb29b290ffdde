// SPDX-License-Identifier: Apache-2.0
// Steps at which a formula's value jumps, and of which its own rounding leaves open how they come out: a
// comparison of two values that lie nearer to each other than their errors, floor() beside a whole number.
#pragma once
#include <optional>
#include <span>
#include "tessera/formula/program.hpp"
#include "tessera/formula/running_error.hpp"

namespace tessera::formula {

// Whether any step of the program jumps.
template <class T>
bool has_jumps(const Program<T>& program);

// What the step would have given on the other side of its jump; none: its operands' errors do not reach it.
std::optional<double> other_outcome(Op op, Running a, Running b, Running c, double value);

// How much the formula's value moves where open steps come out the other way: each by itself, added up. 0:
// none is open. NaN: the formula has no finite value then.
double moved_by_open_steps(const Program<double>& program, std::span<const double> inputs);
double moved_by_open_steps(const Program<float>& program, std::span<const double> inputs);

extern template bool has_jumps(const Program<float>&);
extern template bool has_jumps(const Program<double>&);

}  // namespace tessera::formula
