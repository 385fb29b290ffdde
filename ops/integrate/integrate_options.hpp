// SPDX-License-Identifier: Apache-2.0
// The options of the command `integrate`: which formula over which range, as a trapezoid sum or by a rule.
// Installed: for authors of variants.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "quadrature/box.hpp"
#include "sum/sums.hpp"
#include "tessera/core/arguments.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/formula/program.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integration {

// A formula without variables, "pi/2"; `what` it is, for the message where it is no number.
double number_of(const std::string& text, const std::string& what);
// "0,pi/2" → two formulas, at the comma that no bracket encloses.
std::vector<std::string> parts_of(const std::string& text);
// Throws Error for a name that formulas know as a constant or a function: it cannot be given a value.
void check_free(const std::string& name);

// A variable and its limits, as numbers and as they were written.
struct VariableRange {
  std::string variable;
  double from = 0, to = 0;
  std::string from_text, to_text;
};

struct FixedParameter {
  std::string name;
  double value = 0;
};

// "0 1" binds x; "x=[0,1] y=[-inf,inf]" names what it binds; "k=3" fixes a parameter. Limits are formulas
// without variables. Throws Error for anything else, for a limit that is no number, and where nothing is
// bound.
struct Limits {
  std::vector<VariableRange> ranges;
  std::vector<FixedParameter> fixed;
};
Limits read_limits(const std::string& text);

// The formula, with parameters as the numbers that they are. Throws Error for one that it does not hold.
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

// Why no trapezoid sum is asked for: there are samples, another rule, or neither strips nor the trapezoid.
std::optional<std::string> not_trapezoid(const Arguments& arguments);

// Throws Error where the trapezoid sum cannot do what is asked: several ranges, an infinite limit, more
// strips than --most-evaluations allows.
TrapezoidOptions trapezoid_options_of(const Arguments& arguments);

// Throws Error where the sum would take longer than --most-seconds (10, if none is given) on so many threads
// of a processor.
void check_seconds(const Arguments& arguments, int threads);

// The integrand, compiled once for these arguments.
template <class T>
const formula::Program<T>& program_of(const Arguments& arguments);
extern template const formula::Program<float>& program_of<float>(const Arguments&);
extern template const formula::Program<double>& program_of<double>(const Arguments&);

// --- rules ---

// Whether a table of samples was given.
bool has_samples(const Arguments& arguments);

// Whether a rule is asked for that estimates its error; else a trapezoid sum, which is also meant where
// strips are given and no rule is named.
bool asks_for_rule(const Arguments& arguments);

quadrature::Tolerance tolerance_of(const Arguments& arguments, bool one_variable);

struct RuleOptions {
  std::string rule;
  Element element = Element::f64;  // in which the formula is computed
  formula::Tree formula;           // parameters have become numbers
  std::vector<std::string> variables;
  quadrature::Box box;
  double scale = 1;
  quadrature::Tolerance tolerance;
  quadrature::Limits limits;
  std::vector<double> points;  // known breaks
  std::uint64_t seed = 1;      // of random points

  bool one_variable() const { return variables.size() == 1 && rule != "vegas"; }
};

// Throws Error for options that make no sense, such as breaks outside of the range.
RuleOptions rule_options_of(const Arguments& arguments);

}  // namespace tessera::integration
