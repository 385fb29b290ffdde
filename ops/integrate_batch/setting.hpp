// SPDX-License-Identifier: Apache-2.0
// What the words of a command mean: which formula, over which range, with which parameters, how exactly.
#pragma once
#include <string>
#include <vector>
#include "rule.hpp"
#include "tessera/core/arguments.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integrate_batch {

// A parameter's name, and where its values come from: a column of the array, or a range.
struct Parameter1 {
  std::string name;
  int spread = given;  // as Column has it
  double from = 0, to = 0;
};

struct Setting {
  std::string formula_text, variable;
  std::vector<Parameter1> parameters;
  formula::Tree formula;               // of the variable and the parameters
  std::vector<formula::Tree> ends;     // of the parameters: both limits, and known breaks behind them
  formula::Program<double> integrand;  // of the variable, then the parameters
  formula::Program<double>
      signs;                     // as the integrand: of the parts whose zeros are searched for, in one number
  int searched = 0;              // breaks that are found so
  formula::Program<double> end;  // of an index of `ends`, then the parameters
  bool endless = false;          // a limit may be infinite
  bool measured = false;         // behind the ends `end` has how narrow the formula may be
  double relative = 1e-10, absolute = 0;
  int most = 20'000;
  double caution = 1;              // by what the errors of cells are multiplied
  bool doubted = false;            // some of these were held against another rule, and claimed what is not so
  std::int64_t first = 0, of = 0;  // a batch of so many begins so far before these; 0: these are all

  std::vector<std::string> names() const;  // of the parameters
  int breaks() const { return static_cast<int>(ends.size()) - 2 + searched; }
};

// Kept: asking again for the same words costs a comparison. Throws Error for words that make no sense.
const Setting& setting_of(const Arguments& arguments);

// Where parts of a formula that are linear in the variable are 0, and where linear sides of a comparison, of
// min and max, are equal: formulas of the rest. There a formula is not smooth, or a narrow peak stands.
std::vector<formula::Tree> linear_zeros(const formula::Tree& tree, const std::string& variable);

// The same of parts that are not linear, but can be solved for the variable: exp(x)-k inside abs, a
// comparison, or something steep.
std::vector<formula::Tree> solved_zeros(const formula::Tree& tree, const std::string& variable);

// Parts whose zeros would be, if they could be solved for: x*x*x+x-k inside abs.
std::vector<formula::Tree> unsolved_parts(const formula::Tree& tree, const std::string& variable);

// Whether the formula may jump, or have kinks, at places that are no cuts; `all_cut`: the zeros of its linear
// parts are.
bool has_steps(const formula::Tree& tree, const std::string& variable, bool all_cut);

// Whether one of a few integrals, spread over the parameters' ranges, claims another value than the rule for
// a single one finds, which looks for needles. Parameters from an array are not looked at. The verdict on the
// same words is kept in the cache folder.
bool contradicted(const Setting& setting, const std::string& words);

// How narrow the narrowest may be that functions make of parts that change, and over what the slowest
// changes: two formulas of the parameters. Empty: the text names nothing narrow.
std::vector<std::string> lengths(const Setting& setting, const std::vector<std::string>& limits);

}  // namespace tessera::integrate_batch
