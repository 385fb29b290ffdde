// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include "tessera/core/text/error.hpp"
#include "tessera/formula/interpret.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::formula {
namespace {

// Returns a hint for a constant of other languages.
std::string written_here(const std::string& name) {
  for (const auto& [known, text] : std::initializer_list<std::pair<std::string_view, const char*>>{
           {" infinity Infinity Inf INF INFINITY oo ", ": infinity is written inf"},
           {" Pi PI M_PI ", ": it is written pi"},
           {" tau ", ": write 2*pi, or tau=VALUE"},
           {" nan NaN NAN ", ": formulas have no NaN"}})
    if (known.find(" " + name + " ") != known.npos) return text;
  return "";
}

template <class T>
class Compiler {
 public:
  Compiler(const Tree& tree, const std::vector<std::string>& inputs, bool folds = true)
      : tree_(tree), inputs_(inputs), folds_(folds) {
    if (inputs.size() > max_inputs)
      throw Error("a formula takes at most " + std::to_string(max_inputs) + " variables, not " +
                  std::to_string(inputs.size()));
  }

  Program<T> run() {
    std::vector<int> of_node;
    of_node.reserve(tree_.nodes().size());
    values_.reserve(2 * tree_.nodes().size());
    for (const Node& node : tree_.nodes()) of_node.push_back(value_of(node, of_node));
    return allocate(of_node.back());
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  enum class From { constant, input, step };
  struct Value {
    From from;
    std::uint64_t what;  // a constant's bits, an input's index, an operator
    int operand[3] = {-1, -1, -1};
    bool operator==(const Value&) const = default;
  };

  // --- values: each computed once ---
  int value_of(const Node& node, const std::vector<int>& of_node) {
    if (node.op == Op::number) return number(node);
    if (node.op == Op::variable) return input(node);
    int operand[3] = {-1, -1, -1};
    for (int i = 0; i < arity(node.op); ++i) operand[i] = of_node[static_cast<std::size_t>(node.child[i])];
    if (node.op == Op::pow && is_constant(operand[1])) return power(operand[0], operand[1]);
    return step(node.op, operand[0], operand[1], operand[2]);
  }

  int number(const Node& node) {
    const T value = sizeof(T) == 4 ? static_cast<T>(node.value32) : static_cast<T>(node.value);
    if (std::isinf(value) && !std::isinf(node.value))
      throw Error(pointed_out(tree_.text(), node.place, "this number is outside the range of f32"));
    return constant(value);
  }

  int input(const Node& node) {
    const std::string& name = tree_.names()[static_cast<std::size_t>(node.name)];
    const auto found = std::find(inputs_.begin(), inputs_.end(), name);
    if (found == inputs_.end())
      throw Error(pointed_out(tree_.text(), node.place,
                              "nothing gives a value to '" + quoted(name) + "'" + written_here(name)));
    return once({From::input, static_cast<std::uint64_t>(found - inputs_.begin())});
  }

  int constant(T number) { return once({From::constant, std::bit_cast<Bits>(number)}); }

  int step(Op op, int a, int b = -1, int c = -1) {
    const int count = arity(op);
    const bool known = is_constant(a) && (count < 2 || is_constant(b)) && (count < 3 || is_constant(c));
    if (known && same_everywhere(op) && (folds_ || op == Op::neg))
      return constant(apply<T>(op, number(a), number(b), number(c)));
    if (const int simpler = without(op, a, b); simpler >= 0) return simpler;
    if ((op == Op::add || op == Op::mul) && a > b) std::swap(a, b);
    return once({From::step, static_cast<std::uint64_t>(op), {a, b, c}});
  }

  // Applies simplifications that change no bit.
  int without(Op op, int a, int b) {
    if (op == Op::mul && is(a, 1)) return b;
    if ((op == Op::mul || op == Op::div) && is(b, 1)) return a;
    const Value& first = values_[static_cast<std::size_t>(a)];
    if (op == Op::neg && first.from == From::step && op_of(first) == Op::neg) return first.operand[0];
    if (op == Op::div && is_constant(b)) {  // both are the same number, rounded once
      int exponent = 0;
      const T reciprocal = 1 / number(b);
      if (std::abs(std::frexp(number(b), &exponent)) == T(0.5) && std::isnormal(reciprocal))
        return step(Op::mul, a, constant(reciprocal));
    }
    return -1;
  }

  // Makes small integer powers products, always in the same order, and a power of one half the square root.
  int power(int base, int exponent) {
    const T n = number(exponent);
    if (std::abs(n) == T(0.5)) {
      const int root = step(Op::sqrt, base);
      return n > 0 ? root : step(Op::div, constant(1), root);
    }
    if (n != std::trunc(n) || std::abs(n) > 16) return step(Op::pow, base, exponent);
    const int whole = std::abs(static_cast<int>(n));
    if (whole == 0) return constant(1);
    int product = -1, square = base;
    for (int rest = whole; rest > 0; rest /= 2) {
      if (rest % 2 == 1) product = product < 0 ? square : step(Op::mul, product, square);
      if (rest > 1) square = step(Op::mul, square, square);
    }
    return n > 0 ? product : step(Op::div, constant(1), product);
  }

  // Looks through all values, which is faster than a map because formulas are short.
  int once(const Value& value) {
    const auto found = std::find(values_.begin(), values_.end(), value);
    const auto at = static_cast<int>(found - values_.begin());
    if (found == values_.end()) values_.push_back(value);
    return at;
  }

  bool is_constant(int value) const {
    return values_[static_cast<std::size_t>(value)].from == From::constant;
  }
  T number(int value) const {
    return value < 0 ? T(0) : constant_of(values_[static_cast<std::size_t>(value)]);
  }
  static T constant_of(const Value& value) { return std::bit_cast<T>(static_cast<Bits>(value.what)); }
  static Op op_of(const Value& value) { return static_cast<Op>(value.what); }
  bool is(int value, T number) const { return is_constant(value) && this->number(value) == number; }

  // --- registers: one is free again after the last step that reads it ---
  Program<T> allocate(int root) {
    const std::vector<int> last = last_uses(root);
    Program<T> out;
    out.input_count = static_cast<std::uint8_t>(inputs_.size());
    std::vector<int> code(values_.size(), -1), idle;
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      if (last[static_cast<std::size_t>(i)] < 0) continue;
      const Value& value = values_[static_cast<std::size_t>(i)];
      int& coded = code[static_cast<std::size_t>(i)];
      if (value.from == From::input) coded = first_input + static_cast<int>(value.what);
      else if (value.from == From::constant) coded = place_constant(out, constant_of(value));
      else coded = place_step(out, value, i, last, code, idle);
    }
    out.result = static_cast<std::uint8_t>(code[static_cast<std::size_t>(root)]);
    return out;
  }

  // Returns the last value that needs each; the root is needed to the end, and -1 means unused.
  std::vector<int> last_uses(int root) const {
    std::vector<int> last(values_.size(), -1);
    last[static_cast<std::size_t>(root)] = static_cast<int>(values_.size());
    for (int i = static_cast<int>(values_.size()); i-- > 0;)
      if (last[static_cast<std::size_t>(i)] >= 0)
        for (const int operand : values_[static_cast<std::size_t>(i)].operand)
          if (operand >= 0)
            last[static_cast<std::size_t>(operand)] = std::max(last[static_cast<std::size_t>(operand)], i);
    return last;
  }

  static int place_constant(Program<T>& out, T number) {
    if (out.constant_count == max_constants) too_much("constants", max_constants);
    out.constants[out.constant_count] = number;
    return first_constant + out.constant_count++;
  }

  static int place_step(Program<T>& out, const Value& value, int index, const std::vector<int>& last,
                        const std::vector<int>& code, std::vector<int>& idle) {
    if (out.step_count == max_steps) too_much("operations", max_steps);
    Step& step = out.steps[out.step_count++];
    step.op = op_of(value);
    std::uint8_t* const operand[3] = {&step.a, &step.b, &step.c};
    for (int i = 0; i < 3; ++i) {
      if (value.operand[i] < 0) continue;
      const auto from = static_cast<std::size_t>(value.operand[i]);
      *operand[i] = static_cast<std::uint8_t>(code[from]);
      const bool again = std::find(idle.begin(), idle.end(), code[from]) != idle.end();  // x*x frees x once
      if (last[from] == index && code[from] < max_registers && !again) idle.push_back(code[from]);
    }
    if (idle.empty()) {
      if (out.register_count == max_registers) too_much("intermediate results at a time", max_registers);
      idle.push_back(out.register_count++);
    }
    step.to = static_cast<std::uint8_t>(idle.back());
    idle.pop_back();
    return step.to;
  }

  [[noreturn]] static void too_much(const char* what, int most) {
    throw Error("the formula needs more than " + std::to_string(most) + " " + what);
  }

  const Tree& tree_;
  const std::vector<std::string>& inputs_;
  bool folds_;
  std::vector<Value> values_;
};

}  // namespace

template <class T>
Program<T> compile(const Tree& tree, const std::vector<std::string>& inputs) {
  return Compiler<T>(tree, inputs).run();
}

Program<double> compile_unfolded(const Tree& tree, const std::vector<std::string>& inputs) {
  try {
    return Compiler<double>(tree, inputs, false).run();
  } catch (const Error&) {
    return compile<double>(tree, inputs);
  }
}

template <class T>
T evaluate(const Program<T>& program, std::span<const T> inputs) {
  if (inputs.size() != program.input_count)
    throw Error("the formula takes " + std::to_string(program.input_count) + " values, not " +
                std::to_string(inputs.size()));
  return interpret(program, inputs.data());
}

template float evaluate(const Program<float>&, std::span<const float>);
template double evaluate(const Program<double>&, std::span<const double>);
template Program<float> compile(const Tree&, const std::vector<std::string>&);
template Program<double> compile(const Tree&, const std::vector<std::string>&);

}  // namespace tessera::formula
