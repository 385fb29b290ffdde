// SPDX-License-Identifier: Apache-2.0
#include "setting.hpp"
#include "option_use.hpp"
#include "strips_words.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include "tessera/core/error.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::integration {

double number_of(const std::string& text, const std::string& what) {
  const formula::Tree tree = formula::parse(text);
  const double value =
      formula::interpret(formula::compile<double>(tree, {}), static_cast<const double*>(nullptr));
  if (std::isnan(value)) throw Error(what + " " + text + " is not a number");
  return value;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

void check_free(const std::string& name) {
  if (formula::find_constant(name))
    throw Error(name + " is a constant of formulas: it cannot be given a value, and another name is needed");
  if (formula::find_function(name))
    throw Error(name + " is a function of formulas: it cannot be given a value, and another name is needed");
}

formula::Tree formula_with(const std::string& text, const std::vector<Fixed>& fixed) {
  formula::Tree out = formula::parse(text);
  for (const Fixed& one : fixed) {
    if (std::ranges::find(out.names(), one.name) == out.names().end())
      throw Error("the formula holds no " + one.name + ", which " + one.name + "=… gives a value");
    out = formula::substitute(out, one.name, one.value);
  }
  return out;
}

namespace {

constexpr std::int64_t usual_strips = 65536 * 256;

// Words are apart where a blank lies outside of brackets.
std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> out;
  int depth = 0;
  bool fresh = true;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == ' ' && depth <= 0) {
      fresh = true;
      continue;
    }
    if (fresh) out.emplace_back();
    fresh = false;
    out.back() += c;
  }
  return out;
}

Range1 range_of(const std::string& variable, const std::string& from, const std::string& to) {
  return {variable, number_of(from, "the limit"), number_of(to, "the limit"), from, to};
}

void read_named(const std::string& word, std::size_t equals, Limits& out) {
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (!is_name(name))
    throw Error("'" + word + "' binds no variable: write x=[FROM,TO], or k=VALUE for a parameter");
  check_free(name);
  for (const Range1& range : out.ranges)
    if (range.variable == name) throw Error("the variable " + name + " is bound twice");
  for (const Fixed& fixed : out.fixed)
    if (fixed.name == name) throw Error("the variable " + name + " is bound twice");
  if (!value.starts_with('[')) return out.fixed.push_back({name, number_of(value, "the parameter")});
  const auto parts =
      value.ends_with(']') ? parts_of(value.substr(1, value.size() - 2)) : std::vector<std::string>{};
  if (parts.size() != 2) throw Error("'" + word + "' needs two limits: write " + name + "=[FROM,TO]");
  out.ranges.push_back(range_of(name, parts[0], parts[1]));
}

}  // namespace

void check_bare_limits(const std::string& text, const std::string& limits) {
  std::vector<std::string> bare = words_in(limits);
  std::erase_if(bare, [](const std::string& word) { return word.find('=') != std::string::npos; });
  const formula::Tree tree = formula::parse(text);
  const std::vector<std::string>& names = tree.names();
  if (bare.size() == 2 && !names.empty() && std::ranges::find(names, "x") == names.end())
    throw Error("the formula holds no x, which the limits " + bare[0] + " " + bare[1] + " bind: write " +
                names[0] + "=[FROM,TO]");
}

Sum sum_named(const std::string& word) {
  if (word == "plain") return Sum::plain;
  if (word == "kahan") return Sum::kahan;
  if (word == "double_float") return Sum::double_float;
  return word == "exact" ? Sum::exact : Sum::pairwise;
}

Limits read_limits(const std::string& words) {
  Limits out;
  std::vector<std::string> bare;
  for (const std::string& word : words_in(words)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) bare.push_back(word);
    else read_named(word, equals, out);
  }
  for (const std::string& word : bare)
    if (word.starts_with('[')) throw Error("'" + word + "' binds no variable: write x=" + word);
  if (bare.size() > 2)
    throw Error("'" + bare[2] + "' is one limit too many: two bind x, others are written y=[FROM,TO]");
  if (bare.size() == 1) throw Error("the limit " + bare[0] + " stands alone: x needs two");
  if (bare.size() == 2) {
    for (const Range1& range : out.ranges)
      if (range.variable == "x") throw Error("the variable x is bound twice");
    for (const Fixed& fixed : out.fixed)
      if (fixed.name == "x") throw Error("the variable x is bound twice");
    out.ranges.insert(out.ranges.begin(), range_of("x", bare[0], bare[1]));
  }
  if (out.ranges.empty()) throw Error("the limits are missing: write FROM TO for x, or x=[FROM,TO]");
  return out;
}

std::optional<std::string> not_of_strips(const Arguments& arguments) {
  if (!arguments.words().contains("rule")) return std::nullopt;  // an operation that has sums alone
  if (arguments.has("X") || arguments.has("Y")) return "samples are for the processors: --device cpu";
  const std::string& rule = arguments.text("rule");
  if (rule == "auto" && arguments.text("strips").empty())
    return "the words ask for a rule, which --device cpu knows: --strips, or --rule trapezoid, ask for the "
           "sum that "
           "this variant adds up";
  if (rule == "auto" || rule == "trapezoid") return std::nullopt;
  return "--rule " + rule +
         " is no sum of strips, which is all that this variant adds up; --device cpu knows it";
}

namespace {

// Of what the processors do in a time, their rungs know more.
void check_caps(const Arguments& arguments, Setting& setting) {
  constexpr double no_device_per_second = 1e13, usual_seconds = 10;
  if (const std::string& most = arguments.text("most-evaluations"); !most.empty())
    if (!(static_cast<double>(setting.strips) + 1 <= number_of(most, "--most-evaluations")))
      throw Error("the sum of " + std::to_string(setting.strips) + " strips takes " +
                  std::to_string(setting.strips + 1) + " evaluations, more than --most-evaluations " + most);
  if (const std::string& most = arguments.text("most-seconds"); !most.empty()) {
    setting.most_seconds = number_of(most, "--most-seconds");
    if (!(*setting.most_seconds > 0)) throw Error("--most-seconds needs a number above 0, not " + most);
  }
  if (static_cast<double>(setting.strips) >
      no_device_per_second * setting.most_seconds.value_or(usual_seconds))
    throw Error("no device adds " + std::to_string(setting.strips) +
                " strips in the time allowed: fewer --strips, or more --most-seconds");
}

}  // namespace

Setting strips_of(const Arguments& arguments) {
  Setting out;
  out.formula = arguments.text("FORMULA");
  out.limits = read_limits(arguments.text("LIMITS"));
  check_bare_limits(out.formula, arguments.text("LIMITS"));
  if (out.limits.ranges.size() != 1)
    throw Error("the trapezoid sum takes one range, not " + std::to_string(out.limits.ranges.size()));
  out.a = out.limits.ranges[0].from;
  out.b = out.limits.ranges[0].to;
  if (std::isinf(out.a) || std::isinf(out.b))
    throw Error("the trapezoid sum takes finite limits, not " + out.limits.ranges[0].from_text + " and " +
                out.limits.ranges[0].to_text);
  out.strips = arguments.text("strips").empty() ? usual_strips : arguments.integer("strips");
  out.sum = sum_named(arguments.text("sum"));
  out.accumulated = arguments.text("abscissa") == "accumulated";
  out.scale_terms = arguments.text("scale-at") == "term";
  return out;
}

Setting setting_of(const Arguments& arguments) {
  if (const auto other = not_of_strips(arguments)) throw Error(*other);
  Setting out = strips_of(arguments);
  out.scale = arguments.real("scale");
  check_options(arguments, Way::strips);
  check_caps(arguments, out);
  return out;
}

template <class T>
const formula::Program<T>& program_of(const Setting& setting) {
  struct Known {
    std::string key;
    formula::Program<T> program;
  };
  thread_local Known last;
  std::string key = setting.limits.ranges[0].variable + "\n" + setting.formula;
  for (const Fixed& fixed : setting.limits.fixed)
    key += "\n" + fixed.name + "=" + std::to_string(std::bit_cast<std::uint64_t>(fixed.value));
  if (last.key == key) return last.program;
  const formula::Tree tree = formula_with(setting.formula, setting.limits.fixed);
  last.program = formula::compile<T>(tree, {setting.limits.ranges[0].variable});
  last.key = std::move(key);
  return last.program;
}

template const formula::Program<float>& program_of<float>(const Setting&);
template const formula::Program<double>& program_of<double>(const Setting&);

}  // namespace tessera::integration
