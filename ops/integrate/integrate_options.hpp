// SPDX-License-Identifier: Apache-2.0
// The options of the command `integrate`: a formula and its range, as a trapezoid sum or by a rule.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "quadrature/scattered/box.hpp"
#include "sum/sums.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/formula/program.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integration {

// Returns the value of a formula without variables, such as "pi/2"; `what` names it in error messages.
double number_of(const std::string& text, const std::string& what);
// Splits at separators outside of brackets: "0,pi/2" → two formulas.
std::vector<std::string> parts_of(const std::string& text, char separator = ',');
// Returns the words between blanks outside of brackets.
std::vector<std::string> words_in(const std::string& text);
// Throws Error if formulas know the name as a constant or function, which cannot be given a value.
void check_free(const std::string& name);

// A variable and its limits, as numbers and as written.
struct VariableRange {
  std::string variable;
  double from = 0, to = 0;
  std::string from_text, to_text;
  // Limits that hold variables before this one, as formulas: [0,x]. Then from and to are those of a variable
  // that takes its place: of its share of the range, or of its distance from the finite limit.
  std::optional<formula::Tree> moving_from = {}, moving_to = {};
};

struct FixedParameter {
  std::string name;
  double value = 0;
  bool in_limits = false;
};

// Parses limits: "0 1" binds x; "x=[0,1] y=[-inf,x]" names its variables; "k=3" fixes a parameter. Limits are
// formulas of parameters and of variables that stand before. Throws Error for anything else, for a limit that
// is not a number, and if nothing is bound.
struct Limits {
  std::vector<VariableRange> ranges;
  std::vector<FixedParameter> fixed;
};
Limits read_limits(const std::string& text);

// Parses the formula and replaces parameters by their values. Throws Error for one that it does not hold.
formula::Tree formula_with(const std::string& text, const std::vector<FixedParameter>& fixed);

// --- the trapezoid sum ---

struct TrapezoidOptions {
  std::string formula;
  Limits limits;
  double a = 0, b = 0, scale = 1;
  std::int64_t strips = 1;
  Sum sum = Sum::pairwise;
  bool accumulated = false, scale_terms = false;
};

// Returns the reason why no trapezoid sum is requested: samples, another rule, or neither strips nor rule.
std::optional<std::string> not_trapezoid(const Arguments& arguments);

// Throws Error for requests that a trapezoid sum cannot meet: several ranges, an infinite limit, more strips
// than --most-evaluations allows.
TrapezoidOptions trapezoid_options_of(const Arguments& arguments);

// Throws Error if the sum would take longer than --most-seconds (default 10) on so many CPU threads.
void check_seconds(const Arguments& arguments, int threads);

template <class T>
const formula::Program<T>& program_of(const Arguments& arguments);
extern template const formula::Program<float>& program_of<float>(const Arguments&);
extern template const formula::Program<double>& program_of<double>(const Arguments&);

// --- rules ---

// True if a table of samples was given.
bool has_samples(const Arguments& arguments);

// True if a rule with an error estimate is requested; false for a trapezoid sum, which strips without a named
// rule request, too.
bool asks_for_rule(const Arguments& arguments);

quadrature::Tolerance tolerance_of(const Arguments& arguments, bool one_variable);

struct RuleOptions {
  std::string rule;
  Element element = Element::f64;  // the type in which the formula is computed
  formula::Tree formula;           // with parameters replaced by their values
  std::vector<std::string> variables;
  quadrature::Box box;
  double scale = 1;
  quadrature::Tolerance tolerance;
  quadrature::Limits limits;
  std::vector<double> points;  // known breaks
  std::uint64_t seed = 1;      // for random points

  bool one_variable() const { return variables.size() == 1 && rule != "vegas"; }
};

// Throws Error for options that make no sense, such as breaks outside of the range.
RuleOptions rule_options_of(const Arguments& arguments);

}  // namespace tessera::integration
