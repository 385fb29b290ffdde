// SPDX-License-Identifier: Apache-2.0
// The words of formulas: every function and operator, listed once. Parser, interpreter, vectors and the
// emitted CUDA text all follow these lists, so that a word names the same function in each of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Correctly rounded on every device, so bitwise identical by IEEE 754.
#define TESSERA_FORMULA_EXACT_1(X) \
  X(neg) X(abs) X(sqrt) X(floor) X(ceil) X(trunc) X(round) X(sign) X(logic_not)
#define TESSERA_FORMULA_EXACT_2(X) \
  X(add)                           \
  X(sub)                           \
  X(mul)                           \
  X(div)                           \
  X(min) X(max) X(fmin) X(fmax) X(fmod) X(less) X(less_equal) X(equal) X(not_equal) X(logic_and) X(logic_or)
#define TESSERA_FORMULA_EXACT_3(X) X(fma) X(select)
// The project's own, made of the exact ones: bitwise identical everywhere, within a stated error.
// clang-format off
#define TESSERA_FORMULA_OWN_1(X)          \
  X(exp) X(exp2) X(expm1)                 \
  X(log) X(log2) X(log10) X(log1p)        \
  X(sin) X(cos) X(tan)                    \
  X(asin) X(acos) X(atan)                 \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(cbrt)
// clang-format on
#define TESSERA_FORMULA_OWN_2(X) X(pow) X(atan2) X(hypot)
// Functions of the C library, and of CUDA's on a GPU: the last bits may differ between the two.
#define TESSERA_FORMULA_LIBRARY_1(X) X(erf) X(erfc) X(tgamma) X(lgamma) X(j0) X(j1) X(y0) X(y1)

#define TESSERA_FORMULA_1(X) TESSERA_FORMULA_EXACT_1(X) TESSERA_FORMULA_OWN_1(X) TESSERA_FORMULA_LIBRARY_1(X)
#define TESSERA_FORMULA_2(X) TESSERA_FORMULA_EXACT_2(X) TESSERA_FORMULA_OWN_2(X)
#define TESSERA_FORMULA_3(X) TESSERA_FORMULA_EXACT_3(X)

namespace tessera::formula {

#define TESSERA_FORMULA_NAME(name) name,
enum class Op : std::uint8_t {
  number,
  variable,
  TESSERA_FORMULA_1(TESSERA_FORMULA_NAME) TESSERA_FORMULA_2(TESSERA_FORMULA_NAME)
      TESSERA_FORMULA_3(TESSERA_FORMULA_NAME)
};
#undef TESSERA_FORMULA_NAME

int arity(Op op);              // 0 for a number and a variable
std::string_view name(Op op);  // spelled as in the lists above
bool same_everywhere(Op op);   // not one of the C library's
constexpr bool is_one_of(Op op, std::initializer_list<Op> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

struct Function {
  Op op;
  int least, most;  // accepted numbers of arguments: min and max take many
};
std::optional<Function> find_function(std::string_view word);  // by its name in formulas
std::vector<std::string> function_names();                     // all names that find_function knows
std::optional<double> find_constant(std::string_view word);    // pi, e, inf

}  // namespace tessera::formula
