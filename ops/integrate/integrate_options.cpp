// SPDX-License-Identifier: Apache-2.0
#include "integrate_options.hpp"
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "ops/integrate/quadrature/several_variables/genz_malik.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/formula/interpret.hpp"

namespace tessera::integration {

namespace {

// Returns a formula with the values of the parameters that it holds.
formula::Tree with_values(const std::string& text, std::vector<FixedParameter>& fixed) {
  formula::Tree out = formula::parse(text);
  for (FixedParameter& one : fixed) {
    if (std::ranges::find(out.names(), one.name) == out.names().end()) continue;
    one.in_limits = true;
    out = formula::substitute(out, one.name, one.value);
  }
  return out;
}

double value_of(const formula::Tree& tree, const std::string& what) {
  const auto program = formula::compile<double>(tree, {});
  const double value = formula::interpret(program, static_cast<const double*>(nullptr));
  if (std::isnan(value)) throw Error(what + " " + tree.text() + " is not a number");
  return value;
}

}  // namespace

double number_of(const std::string& text, const std::string& what) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const bool plain = !text.empty() && text[0] >= '0' && text[0] <= '9';  // no need to parse a formula
  if (const auto read = std::from_chars(text.data(), end, value);
      plain && read.ec == std::errc() && read.ptr == end)
    return value;
  return value_of(formula::parse(text), what);
}

namespace {

formula::Tree with_parameters(formula::Tree tree, const std::vector<FixedParameter>& fixed) {
  for (const FixedParameter& one : fixed) {
    if (std::ranges::find(tree.names(), one.name) == tree.names().end() && !one.in_limits)
      throw Error("neither the formula nor a limit holds " + one.name + ", which " + one.name +
                  "=… gives a value");
    tree = formula::substitute(tree, one.name, one.value);
  }
  return tree;
}

}  // namespace

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (c == separator && depth <= 0) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> out = parts_of(text, ' ');
  std::erase(out, "");
  return out;
}

void check_free(const std::string& name) {
  if (formula::find_constant(name))
    throw Error(name + " is a constant of formulas: it cannot be given a value, and another name is needed");
  if (formula::find_function(name))
    throw Error(name + " is a function of formulas: it cannot be given a value, and another name is needed");
}

formula::Tree formula_with(const std::string& text, const std::vector<FixedParameter>& fixed) {
  return with_parameters(formula::parse(text), fixed);
}

namespace {

constexpr std::int64_t usual_strips = 65536 * 256;

VariableRange range_of(const std::string& variable, const std::string& from, const std::string& to,
                       Limits& limits) {
  std::vector<std::string> before;
  for (const VariableRange& range : limits.ranges) before.push_back(range.variable);
  const formula::Tree trees[2] = {with_values(from, limits.fixed), with_values(to, limits.fixed)};
  double ends[2] = {0, 1};
  for (const int side : {0, 1}) try {
      (void)formula::compile<double>(trees[side], before);
      if (trees[side].names().empty()) ends[side] = value_of(trees[side], "the limit");
    } catch (const Error& error) {
      throw Error(std::string(error.what()) +
                  "\n  A limit may hold parameters, such as b=3, and variables before it: x=[0,b] y=[0,x]");
    }
  if (trees[0].names().empty() && trees[1].names().empty()) return {variable, ends[0], ends[1], from, to};
  const bool below = std::isinf(ends[0]), above = std::isinf(ends[1]);
  return {variable, below ? ends[0] : 0, above ? ends[1] : below ? 0 : 1, from, to, trees[0], trees[1]};
}

// Puts variables over fixed ranges in the place of those whose limits move, the last one first, because its
// limits may hold the others.
void fix_ranges(RuleOptions& options, const std::vector<VariableRange>& ranges) {
  for (std::size_t k = ranges.size(); k-- > 0;) {
    const VariableRange& range = ranges[k];
    if (!range.moving_from) continue;
    const std::string share = range.variable + "_share";
    const bool below = std::isinf(range.from), above = std::isinf(range.to);
    formula::Tree place = formula::parse(below   ? "to_+" + share
                                         : above ? "from_+" + share
                                                 : "from_+(to_-from_)*" + share);
    formula::Tree all = formula::parse(below || above ? "formula_" : "(to_-from_)*formula_");
    options.formula = formula::substitute(options.formula, range.variable, place);
    all = formula::substitute(all, "formula_", options.formula);
    all = formula::substitute(all, "from_", *range.moving_from);
    options.formula = formula::substitute(all, "to_", *range.moving_to);
    options.variables[k] = share;
  }
}

void require_unbound(const Limits& limits, const std::string& name) {
  if (std::ranges::find(limits.ranges, name, &VariableRange::variable) != limits.ranges.end() ||
      std::ranges::find(limits.fixed, name, &FixedParameter::name) != limits.fixed.end())
    throw Error("the variable " + name + " is bound twice");
}

void read_named(const std::string& word, std::size_t equals, Limits& out) {
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (!is_name(name))
    throw Error("'" + word + "' binds no variable: write x=[FROM,TO], or k=VALUE for a parameter");
  check_free(name);
  require_unbound(out, name);
  if (!value.starts_with('['))
    return out.fixed.push_back({name, value_of(with_values(value, out.fixed), "the parameter")});
  const auto parts =
      value.ends_with(']') ? parts_of(value.substr(1, value.size() - 2)) : std::vector<std::string>{};
  if (parts.size() != 2) throw Error("'" + word + "' needs two limits: write " + name + "=[FROM,TO]");
  out.ranges.push_back(range_of(name, parts[0], parts[1], out));
}

// Throws Error if unnamed limits bind x, but the formula holds other variables and no x.
void check_bare_limits(const formula::Tree& tree, const std::string& limits) {
  const std::vector<std::string>& names = tree.names();
  if (names.empty() || std::ranges::find(names, "x") != names.end()) return;
  std::vector<std::string> bare = words_in(limits);
  std::erase_if(bare, [](const std::string& word) { return word.find('=') != std::string::npos; });
  if (bare.size() == 2)
    throw Error("the formula holds no x, which the limits " + bare[0] + " " + bare[1] + " bind: write " +
                names[0] + "=[FROM,TO]");
}

Sum sum_named(const std::string& word) {
  if (word == "plain") return Sum::plain;
  if (word == "kahan") return Sum::kahan;
  if (word == "double_float") return Sum::double_float;
  return word == "exact" ? Sum::exact : Sum::pairwise;
}

}  // namespace

Limits read_limits(const std::string& text) {
  Limits out;
  std::vector<std::string> bare, named;
  for (const std::string& word : words_in(text)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) bare.push_back(word);
    else if (equals + 1 < word.size() && word[equals + 1] == '[') named.push_back(word);
    else read_named(word, equals, out);
  }
  for (const std::string& word : bare)
    if (word.starts_with('[')) throw Error("'" + word + "' binds no variable: write x=" + word);
  if (bare.size() > 2)
    throw Error("'" + bare[2] + "' is one limit too many: two bind x, others are written y=[FROM,TO]");
  if (bare.size() == 1) throw Error("the limit " + bare[0] + " is given alone: x needs two limits");
  if (bare.size() == 2) {
    require_unbound(out, "x");
    out.ranges.push_back(range_of("x", bare[0], bare[1], out));
  }
  for (const std::string& word : named) read_named(word, word.find('='), out);
  if (out.ranges.empty()) throw Error("the limits are missing: write FROM TO for x, or x=[FROM,TO]");
  return out;
}

std::optional<std::string> not_trapezoid(const Arguments& arguments) {
  if (has_samples(arguments)) return "samples are for the processors: --device cpu";
  const std::string& rule = arguments.text("rule");
  if (rule == "auto" && arguments.text("strips").empty())
    return "no --strips and no --rule trapezoid: this variant computes trapezoid sums only; --device cpu has "
           "the other rules";
  if (rule == "auto" || rule == "trapezoid") return std::nullopt;
  return "this variant computes trapezoid sums only; --device cpu has --rule " + rule;
}

TrapezoidOptions trapezoid_options_of(const Arguments& arguments) {
  if (const auto other = not_trapezoid(arguments)) throw Error(*other);
  TrapezoidOptions out;
  out.formula = arguments.text("FORMULA");
  out.limits = read_limits(arguments.text("LIMITS"));
  check_bare_limits(formula::parse(out.formula), arguments.text("LIMITS"));
  if (out.limits.ranges.size() != 1)
    throw Error("the trapezoid sum takes one range, not " + std::to_string(out.limits.ranges.size()));
  const VariableRange& range = out.limits.ranges[0];
  out.a = range.from;
  out.b = range.to;
  if (std::isinf(out.a) || std::isinf(out.b))
    throw Error("the trapezoid sum takes finite limits, not " + range.from_text + " and " + range.to_text);
  if (!arguments.text("points").empty()) throw Error("--points is for rules: a trapezoid sum cuts nowhere");
  out.scale = arguments.real("scale");
  out.strips = arguments.text("strips").empty() ? usual_strips : arguments.integer("strips");
  out.sum = sum_named(arguments.text("sum"));
  out.accumulated = arguments.text("abscissa") == "accumulated";
  out.scale_terms = arguments.text("scale-at") == "term";
  if (const std::string& most = arguments.text("most-evaluations"); !most.empty())
    if (!(static_cast<double>(out.strips) + 1 <= number_of(most, "--most-evaluations")))
      throw Error(fmt::format("the sum of {} strips takes {} evaluations, more than --most-evaluations {}",
                              out.strips, out.strips + 1, most));
  return out;
}

void check_seconds(const Arguments& arguments, int threads) {
  constexpr double core_per_second = 2e9;  // operators, about
  constexpr double usual_seconds_of_a_sum = 10;
  const TrapezoidOptions options = trapezoid_options_of(arguments);
  const std::string& text = arguments.text("most-seconds");
  const double most = text.empty() ? usual_seconds_of_a_sum : number_of(text, "--most-seconds");
  const double all = static_cast<double>(options.strips) * (1 + program_of<double>(arguments).step_count);
  const double seconds = all / (core_per_second * std::max(1, threads));
  if (!(seconds <= most))
    throw Error(
        fmt::format("{} strips would take about {:.2g} s on {} threads, more than {:g}: fewer --strips, or "
                    "more --most-seconds",
                    options.strips, seconds, threads, most));
}

template <class T>
const formula::Program<T>& program_of(const Arguments& arguments) {
  return arguments.derived<formula::Program<T>>([&] {
    const TrapezoidOptions options = trapezoid_options_of(arguments);
    const formula::Tree tree = formula_with(options.formula, options.limits.fixed);
    return formula::compile<T>(tree, {options.limits.ranges[0].variable});
  });
}

template const formula::Program<float>& program_of<float>(const Arguments&);
template const formula::Program<double>& program_of<double>(const Arguments&);

// --- rules ---

namespace {

// Returns the value of an option that is a formula without variables; `otherwise` if it is empty.
double number_or(const Arguments& arguments, const std::string& name, double otherwise) {
  const std::string& text = arguments.text(name);
  return text.empty() ? otherwise : number_of(text, "--" + name);
}

std::int64_t count_or(const Arguments& arguments, const std::string& name, std::int64_t otherwise) {
  const double value = number_or(arguments, name, static_cast<double>(otherwise));
  if (!(value >= 1 && value <= 1e18))
    throw Error("--" + name + " needs a number from 1 on, not " + arguments.text(name));
  return static_cast<std::int64_t>(value);
}

// Returns the number of regions in an eighth of this machine's memory: a growing vector briefly exists twice.
std::int64_t regions_in_memory() {
  constexpr std::int64_t of_one = sizeof(quadrature::Region) + sizeof(quadrature::RegionResult),
                         least = 1 << 20;
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return least;
  return std::max<std::int64_t>(least, std::int64_t{pages} * bytes / 8 / of_one);
}

std::vector<double> points_of(const std::string& text, std::vector<FixedParameter>& fixed) {
  std::vector<double> out;
  if (text.empty()) return out;
  for (const std::string& part : parts_of(text))
    out.push_back(value_of(with_values(part, fixed), "--points"));
  return out;
}

// Throws Error for a break outside of the range, which must be a typing error.
void check_points(const std::vector<double>& points, const quadrature::Range& range) {
  const double from = std::fmin(range.lower, range.upper), to = std::fmax(range.lower, range.upper);
  for (const double x : points)
    if (!(from <= x && x <= to) || std::isinf(x))
      throw Error(fmt::format("--points: {:g} lies outside of the range", x));
}

double rounded(double limit, Element element) {
  return element == Element::f32 ? static_cast<double>(static_cast<float>(limit)) : limit;
}

constexpr double usual_single = 1e-5;  // the default tolerance of a formula that is computed in f32

}  // namespace

bool has_samples(const Arguments& arguments) { return arguments.has("X") || arguments.has("Y"); }

bool asks_for_rule(const Arguments& arguments) {
  if (has_samples(arguments)) return true;
  const std::string& rule = arguments.text("rule");
  return rule == "auto" ? arguments.text("strips").empty() : rule != "trapezoid";
}

quadrature::Tolerance tolerance_of(const Arguments& arguments, bool one_variable) {
  quadrature::Tolerance out = one_variable ? quadrature::Tolerance{} : quadrature::usual_cubature_tolerance;
  out.absolute = number_or(arguments, "absolute", out.absolute);
  // The option bounds the error of the scaled integral.
  if (const double scale = arguments.real("scale"); scale != 0) out.absolute /= std::fabs(scale);
  if (arguments.element() == Element::f32) out.relative = usual_single;
  out.relative = number_or(arguments, "relative", out.relative);
  return out;
}

RuleOptions rule_options_of(const Arguments& arguments) {
  RuleOptions out;
  Limits limits = read_limits(arguments.text("LIMITS"));
  out.points = points_of(arguments.text("points"), limits.fixed);
  out.rule = arguments.text("rule");
  out.element = arguments.element();
  out.formula = formula::parse(arguments.text("FORMULA"));
  check_bare_limits(out.formula, arguments.text("LIMITS"));
  out.formula = with_parameters(std::move(out.formula), limits.fixed);
  for (const VariableRange& range : limits.ranges) {
    out.variables.push_back(range.variable);
    out.box.axes.push_back({rounded(range.from, out.element), rounded(range.to, out.element)});
    if (out.element == Element::f32) out.box.axes.back().rounding = 0x1p-24;
  }
  for (const char* name : {"sum", "abscissa", "scale-at", "roots"})
    if (arguments.text(name) != arguments.signature().at(name).value)
      throw Error(fmt::format("--{} is for a trapezoid sum: give --strips, or --rule trapezoid", name));
  const bool one = out.one_variable();
  out.limits = one ? quadrature::Limits{} : quadrature::usual_cubature_limits;
  out.scale = arguments.real("scale");
  out.tolerance = tolerance_of(arguments, one);
  out.limits.evaluations = count_or(arguments, "most-evaluations", out.limits.evaluations);
  if (!one) out.limits.regions = regions_in_memory();
  out.limits.seconds = number_or(arguments, "most-seconds", out.limits.seconds);
  fix_ranges(out, limits.ranges);
  if (one) check_points(out.points, out.box.axes[0]);
  out.seed = static_cast<std::uint64_t>(arguments.integer("random-seed"));
  return out;
}

}  // namespace tessera::integration
