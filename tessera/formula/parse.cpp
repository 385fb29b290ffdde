// SPDX-License-Identifier: Apache-2.0
// The grammar, in Boost.Spirit's notation. Each rule leaves the index of its node on a stack; a rule that has
// begun finishes or throws, so nothing is read twice and the time is linear in the text.
#include <boost/spirit/home/x3.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::formula {
namespace {

namespace x3 = boost::spirit::x3;
using Text = const char*;

// Returns a hint for users of another notation; `at` is where parsing stopped.
std::string hint(Text begin, Text at, Text end, bool after_value) {
  if (at == end) return "";
  const char c = *at;
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  if (rest.starts_with("²") || rest.starts_with("³")) return " (a power is x^2)";
  if (rest.starts_with("×") || rest.starts_with("·") || rest.starts_with("⋅")) return " (a product is 2*x)";
  if (rest.starts_with("÷")) return " (a quotient is x/2)";
  if (rest.starts_with("−") || rest.starts_with("–")) return " (the minus of the keyboard is meant: -)";
  if (rest.starts_with("π")) return " (it is written pi)";
  if (rest.starts_with("√")) return " (a root is sqrt(x))";
  if (rest.starts_with("∞")) return " (it is written inf)";
  if (c == '|') return " (a size is abs(x), and a word for either is or)";
  if (c == '!') return " (what is not so is: not x)";
  if (c == '*' && at != begin && at[-1] == '*') return " (a power is x^2)";
  if (c == '%') return " (a remainder is fmod(x,2))";
  if (c == '=') return " (equality is x==1)";
  if (!after_value) return "";
  if (c == '<' || c == '>') return " (comparisons do not chain: 0<x and x<1)";
  const bool alphanumeric =
      (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return alphanumeric || c == '(' ? " (a product is 2*x)" : "";
}

// Functions of other languages, and their form here.
constexpr std::string_view elsewhere[][2] = {{"sec", "1/cos(x)"},       {"csc", "1/sin(x)"},
                                             {"cosec", "1/sin(x)"},     {"cot", "1/tan(x)"},
                                             {"cotan", "1/tan(x)"},     {"sech", "1/cosh(x)"},
                                             {"csch", "1/sinh(x)"},     {"cosech", "1/sinh(x)"},
                                             {"coth", "1/tanh(x)"},     {"cotanh", "1/tanh(x)"},
                                             {"sinc", "sin(x)/x"},      {"sinpi", "sin(pi*x)"},
                                             {"cospi", "cos(pi*x)"},    {"sind", "sin(pi*x/180)"},
                                             {"cosd", "cos(pi*x/180)"}, {"tand", "tan(pi*x/180)"},
                                             {"gamma", "tgamma(x)"},    {"Gamma", "tgamma(x)"},
                                             {"mod", "fmod(x,2)"},      {"rem", "fmod(x,2)"},
                                             {"sgn", "sign(x)"},        {"heaviside", "x>=0"},
                                             {"arcsin", "asin(x)"},     {"arccos", "acos(x)"},
                                             {"arctan", "atan(x)"},     {"lg", "log10(x) or log2(x)"},
                                             {"sqr", "x^2 or sqrt(x)"}, {"tg", "tan(x)"},
                                             {"sh", "sinh(x)"},         {"ch", "cosh(x)"},
                                             {"th", "tanh(x)"},         {"lb", "log2(x)"}};

std::string sorted(std::string word) {
  std::ranges::sort(word);
  return word;
}

// Returns the hint for an unknown function; empty: none is right.
std::string about_function(const std::string& word) {
  for (const auto& [name, text] : elsewhere)
    if (word == name) return ": write " + std::string(text);
  if (word.starts_with("bessel") ||
      (word.size() == 2 && std::strchr("ijky", word[0]) && std::strchr("0123n", word[1])))
    return ": of Bessel's functions there are j0, j1, y0 and y1";
  constexpr std::string_view special = " si ci ei li Si Ci Ei Li Ai Bi ";  // none of them is here
  if (special.find(" " + word + " ") != special.npos) return "";
  if (word.size() <= 2) return ": for a product write " + word + "*(…)";
  const std::string meant = word.size() > 20 ? "" : nearest(word, function_names());
  // A short word must lack a letter or have one twice: another letter may make another function, as in log3.
  const auto twice = std::ranges::adjacent_find(word);
  const bool close =
      word.size() > 5 ||
      (word.size() + 1 == meant.size() && std::ranges::includes(sorted(meant), sorted(word))) ||
      (twice != word.end() &&
       std::string(word).erase(static_cast<std::size_t>(twice - word.begin()), 1) == meant);
  return meant.empty() || !close ? "" : "; did you mean " + meant + "(…)?";
}

class Builder {
 public:
  Builder(std::string_view text, const Limits& limits)
      : text_(text), limits_(limits), tree_(std::string(text)) {}

  [[noreturn]] void fail(Text at, const std::string& message) const {
    throw Error(pointed_out(text_, static_cast<std::size_t>(at - text_.data()), message));
  }

  void enter(Text at) {
    if (++depth_ > limits_.depth)
      fail(at, "the formula is nested deeper than " + std::to_string(limits_.depth) + " levels");
  }
  void leave() { --depth_; }

  void number(Text first, Text last) {
    double value = 0;
    if (std::from_chars(first, last, value).ec != std::errc())
      fail(first, "this number is outside the range of f64");
    float value32 = 0;
    if (std::from_chars(first, last, value32).ec != std::errc()) value32 = static_cast<float>(value);
    push(tree_.add_number(value, value32, place(first)), first);
  }

  void name(Text first, Text last) {
    const std::string_view word(first, static_cast<std::size_t>(last - first));
    if (find_function(word))
      fail(first, std::string(word) + " is a function: write " + std::string(word) + "(…)");
    if (const auto value = find_constant(word))
      push(tree_.add_number(*value, static_cast<float>(*value), place(first)), first);
    else push(tree_.add_variable(word, place(first)), first);
  }

  void begin_call(Text first, Text last) {
    const std::string word(first, last);
    const auto function = find_function(word);
    if (!function) fail(first, quoted(word) + " is no function" + about_function(word));
    calls_.push_back({*function, word, first, stack_.size()});
  }

  void end_call() {
    const Call call = calls_.back();
    calls_.pop_back();
    const int given = static_cast<int>(stack_.size() - call.base), least = call.function.least,
              most = call.function.most;
    if (given < least || given > most)
      fail(call.at, call.word + " takes " + std::to_string(least) +
                        (least == 1 && most == 1 ? " argument"
                         : least == most         ? " arguments"
                                                 : " or more arguments") +
                        ", not " + std::to_string(given) +
                        (call.word == "log" || call.word == "ln"
                             ? " (to another base: log2(x), log10(x), log(x)/log(3))"
                             : ""));
    if (least == most) return apply(call.function.op, call.at);
    for (int i = 1; i < given; ++i) apply(call.function.op, call.at);
  }

  // Applies an operator to as many nodes from the top of the stack as it takes.
  void apply(Op op, Text at) {
    std::int32_t child[3] = {-1, -1, -1};
    for (int i = arity(op); i-- > 0; stack_.pop_back()) child[i] = stack_.back();
    push(tree_.add(op, place(at), child[0], child[1], child[2]), at);
  }
  void exchange() { std::swap(stack_.back(), stack_[stack_.size() - 2]); }

  Tree result() && { return std::move(tree_); }

 private:
  struct Call {
    Function function;
    std::string word;
    Text at;
    std::size_t base;
  };

  std::uint32_t place(Text at) const { return static_cast<std::uint32_t>(at - text_.data()); }
  void push(std::int32_t index, Text at) {
    if (tree_.nodes().size() > limits_.nodes)
      fail(at, "the formula has more than " + std::to_string(limits_.nodes) + " parts");
    stack_.push_back(index);
  }

  std::string_view text_;
  Limits limits_;
  Tree tree_;
  std::vector<std::int32_t> stack_;
  std::vector<Call> calls_;
  int depth_ = 0;
};

struct Building;
template <class Context>
Builder& builder(const Context& context) {
  return x3::get<Building>(context).get();
}

const auto enter = [](auto& c) { builder(c).enter(x3::_where(c).begin()); };
const auto leave = [](auto& c) { builder(c).leave(); };
const auto number_done = [](auto& c) { builder(c).number(x3::_attr(c).begin(), x3::_attr(c).end()); };
const auto name_done = [](auto& c) { builder(c).name(x3::_attr(c).begin(), x3::_attr(c).end()); };
const auto call_begins = [](auto& c) { builder(c).begin_call(x3::_attr(c).begin(), x3::_attr(c).end()); };
const auto call_ends = [](auto& c) { builder(c).end_call(); };
template <Op op>
const auto apply = [](auto& c) { builder(c).apply(op, x3::_where(c).begin()); };
template <Op op>
const auto apply_exchanged = [](auto& c) {
  builder(c).exchange();
  builder(c).apply(op, x3::_where(c).begin());
};

const auto letter = x3::char_("a-zA-Z_");
const auto digit = x3::char_("0-9");
const auto word = x3::raw[x3::lexeme[letter >> *(letter | digit)]];
// A word of the grammar, not the beginning of a longer name.
const auto keyword = [](const char* text) { return x3::lexeme[x3::lit(text) >> !(letter | digit)]; };
const auto reserved = keyword("and") | keyword("or") | keyword("not");
const auto number = x3::raw[x3::lexeme[((+digit >> -('.' >> *digit)) | ('.' >> +digit)) >>
                                       -(x3::char_("eE") >> -x3::char_("+-") >> +digit)]];

x3::rule<struct ChoiceRule> const choice = "a value";
x3::rule<struct DisjunctionRule> const disjunction = "a value";
x3::rule<struct ConjunctionRule> const conjunction = "a value";
x3::rule<struct NegationRule> const negation = "a value";
x3::rule<struct ComparisonRule> const comparison = "a value";
x3::rule<struct SumRule> const sum = "a value";
x3::rule<struct ProductRule> const product = "a value";
x3::rule<struct SignedRule> const signed_power = "a value";
x3::rule<struct PowerRule> const power = "a value";
x3::rule<struct ValueRule> const value = "a value";
x3::rule<struct FinishRule> const finish = "an operator or the end";
x3::rule<struct ArgumentsRule> const arguments = "an argument";

const auto finish_def = x3::eoi;
const auto choice_def = x3::eps[enter] >> disjunction >>
                        -(('?' > choice > ':' > choice)[apply<Op::select>]) >> x3::eps[leave];
const auto disjunction_def = conjunction >>
                             *(((x3::lit("||") | keyword("or")) > conjunction)[apply<Op::logic_or>]);
const auto conjunction_def = negation >>
                             *(((x3::lit("&&") | keyword("and")) > negation)[apply<Op::logic_and>]);
const auto negation_def =
    ((keyword("not") >> x3::eps[enter]) > negation > x3::eps[leave])[apply<Op::logic_not>] | comparison;
const auto comparison_def = sum >>
                            -(((x3::lit("<=") > sum)[apply<Op::less_equal>]) |
                              ((x3::lit(">=") > sum)[apply_exchanged<Op::less_equal>]) |
                              ((x3::lit("==") > sum)[apply<Op::equal>]) |
                              ((x3::lit("!=") > sum)[apply<Op::not_equal>]) | (('<' > sum)[apply<Op::less>]) |
                              (('>' > sum)[apply_exchanged<Op::less>]));
const auto sum_def = product >> *((('+' > product)[apply<Op::add>]) | (('-' > product)[apply<Op::sub>]));
const auto product_def = signed_power >>
                         *((('*' > signed_power)[apply<Op::mul>]) | (('/' > signed_power)[apply<Op::div>]));
const auto signed_power_def = ((('-' >> x3::eps[enter]) > signed_power > x3::eps[leave])[apply<Op::neg>]) |
                              (('+' >> x3::eps[enter]) > signed_power > x3::eps[leave]) | power;
const auto power_def = value >> -((('^' >> x3::eps[enter]) > signed_power > x3::eps[leave])[apply<Op::pow>]);
const auto arguments_def = choice > *(',' > choice) > ')';
const auto value_def =
    number[number_done] | ('(' > choice > ')') |
    (!reserved >> ((word >> &x3::lit('('))[call_begins] > '(' > arguments > x3::eps[call_ends])) |
    (!reserved >> word[name_done]);

BOOST_SPIRIT_DEFINE(choice, disjunction, conjunction, negation, comparison, sum, product, signed_power, power,
                    value, arguments, finish)

}  // namespace

Tree parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.length)
    throw Error("the formula has " + std::to_string(text.size()) + " characters, the limit is " +
                std::to_string(limits.length));
  Builder build(text, limits);
  Text at = text.data();
  const Text end = at + text.size();
  const auto start = x3::with<Building>(std::ref(build))[choice > finish];
  try {
    if (!x3::phrase_parse(at, end, start, x3::ascii::space)) {
      while (at != end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) ++at;
      build.fail(
          at, at == end ? "there is no formula" : "a value is expected" + hint(text.data(), at, end, false));
    }
  } catch (const x3::expectation_failure<Text>& failure) {
    const std::string wanted = failure.which();
    build.fail(failure.where(),
               wanted + " is expected" +
                   hint(text.data(), failure.where(), end, wanted == "an operator or the end"));
  }
  return std::move(build).result();
}

}  // namespace tessera::formula
