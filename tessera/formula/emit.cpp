// SPDX-License-Identifier: Apache-2.0
#include "tessera/formula/emit.hpp"
#include <fmt/format.h>
#include <cmath>

namespace tessera::formula {
namespace {

// Returns a literal of that type, exact to the last bit.
template <class T>
std::string literal(T given) {
  const char* const type = sizeof(T) == 4 ? "float" : "double";
  if (std::isnan(given)) return fmt::format("formula::not_a_number<{}>()", type);
  if (std::isinf(given)) return fmt::format("{}formula::infinity<{}>()", given < 0 ? "-" : "", type);
  return fmt::format("{:a}{}", given, sizeof(T) == 4 ? "f" : "");
}

template <class T>
class Writer {
 public:
  Writer(const Program<T>& program, std::string_view root, bool watched)
      : program_(program), root_(root), watched_(watched) {
    for (int i = 0; i < program.input_count; ++i) words_[first_input + i] = fmt::format("x{}", i);
    for (int i = 0; i < program.constant_count; ++i)
      words_[first_constant + i] = "(" + literal(program.constants[i]) + ")";
  }

  std::string run(std::string_view name) {
    const char* const type = sizeof(T) == 4 ? "float" : "double";
    std::string out = fmt::format("static __device__ __forceinline__ {} {}(", type, name);
    for (int i = 0; i < program_.input_count; ++i)
      out += fmt::format("{}{} x{}", i == 0 ? "" : ", ", type, i);
    out += watched_ ? ", unsigned& max_key) {\n  (void)max_key;\n" : ") {\n";
    for (int i = 0; i < program_.input_count; ++i) out += fmt::format("  (void)x{};\n", i);
    for (int i = 0; i < program_.step_count; ++i) {  // a name for each step: a register serves several
      const Step& step = program_.steps[i];
      out += fmt::format("  const {} v{} = {};\n", type, i, expression(step));
      words_[step.to] = fmt::format("v{}", i);
    }
    return out + fmt::format("  return {};\n}}\n", words_[program_.result]);
  }

 private:
  std::string expression(const Step& step) const {
    const std::string &a = words_[step.a], &b = words_[step.b], &c = words_[step.c];
    switch (step.op) {
      case Op::add:
        return a + " + " + b;
      case Op::sub:
        return a + " - " + b;
      case Op::mul:
        return a + " * " + b;
      case Op::div:
        return a + " / " + b;
      case Op::neg:
        return "-" + a;
      case Op::sqrt:
        return fmt::format("{}({}{})", root_, a, watched_ ? ", max_key" : "");
      default:
        break;
    }
    std::string out = fmt::format("formula::{}({}", name(step.op), a);
    if (arity(step.op) > 1) out += ", " + b;
    if (arity(step.op) > 2) out += ", " + c;
    return out + ")";
  }

  const Program<T>& program_;
  std::string_view root_;
  bool watched_;
  std::string words_[first_constant + max_constants];  // by operand
};

}  // namespace

template <class T>
std::string source_of(const Program<T>& program, std::string_view name, std::string_view root, bool watched) {
  return Writer<T>(program, root, watched).run(name);
}

template std::string source_of(const Program<float>&, std::string_view, std::string_view, bool);
template std::string source_of(const Program<double>&, std::string_view, std::string_view, bool);

}  // namespace tessera::formula
