// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/operators.hpp"
#include <limits>
#include <numbers>

namespace tessera::formula {
namespace {

struct About {
  std::string_view name;
  int arity;
};

#define TESSERA_FORMULA_ABOUT_1(name) {#name, 1},
#define TESSERA_FORMULA_ABOUT_2(name) {#name, 2},
#define TESSERA_FORMULA_ABOUT_3(name) {#name, 3},
constexpr About table[] = {{"number", 0},
                           {"variable", 0},
                           TESSERA_FORMULA_1(TESSERA_FORMULA_ABOUT_1)
                               TESSERA_FORMULA_2(TESSERA_FORMULA_ABOUT_2)
                                   TESSERA_FORMULA_3(TESSERA_FORMULA_ABOUT_3)};

// True for operators with a sign or a word of their own, or with another name in formulas.
bool has_own_syntax(Op op) {
  return is_one_of(
      op, {Op::number, Op::variable, Op::neg, Op::add, Op::sub, Op::mul, Op::div, Op::less, Op::less_equal,
           Op::equal, Op::not_equal, Op::logic_and, Op::logic_or, Op::logic_not, Op::select});
}

}  // namespace

int arity(Op op) { return table[static_cast<int>(op)].arity; }
std::string_view name(Op op) { return table[static_cast<int>(op)].name; }

bool same_everywhere(Op op) {
  switch (op) {
#define TESSERA_FORMULA_CASE(name) case Op::name:
    TESSERA_FORMULA_LIBRARY_1(TESSERA_FORMULA_CASE) return false;
#undef TESSERA_FORMULA_CASE
    default:
      return true;
  }
}

std::optional<Function> find_function(std::string_view word) {
  constexpr int many = 64;
  if (word == "if") return Function{Op::select, 3, 3};
  if (word == "fabs") return Function{Op::abs, 1, 1};
  if (word == "ln") return Function{Op::log, 1, 1};
  for (int i = 0; i < static_cast<int>(std::size(table)); ++i) {
    const Op op{static_cast<std::uint8_t>(i)};
    if (table[i].name != word || has_own_syntax(op)) continue;
    const bool takes_many = op == Op::min || op == Op::max;
    return Function{op, takes_many ? 1 : table[i].arity, takes_many ? many : table[i].arity};
  }
  return std::nullopt;
}

std::vector<std::string> function_names() {
  std::vector<std::string> out{"if", "fabs", "ln"};
  for (int i = 0; i < static_cast<int>(std::size(table)); ++i)
    if (!has_own_syntax(Op{static_cast<std::uint8_t>(i)})) out.emplace_back(table[i].name);
  return out;
}

std::optional<double> find_constant(std::string_view word) {
  if (word == "pi") return std::numbers::pi;
  if (word == "e") return std::numbers::e;
  if (word == "inf") return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace tessera::formula
