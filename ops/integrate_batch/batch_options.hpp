// SPDX-License-Identifier: Apache-2.0
// The options of a batch: which formula, over which range, with which parameters, to what tolerance.
#pragma once
#include <string>
#include <vector>
#include "rule.hpp"
#include "tessera/core/arguments.hpp"
#include "tessera/formula/program.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integrate_batch {

// A parameter's name, and where its values come from: a column of the array, or a range.
struct NamedParameter {
  std::string name;
  int spread = given;  // as Column has it
  double from = 0, to = 0;
};

struct BatchOptions {
  std::string variable;
  std::vector<NamedParameter> parameters;
  formula::Tree formula;               // of the variable and the parameters
  std::vector<formula::Tree> ends;     // of the parameters: both limits, and breakpoints behind them
  formula::Program<double> integrand;  // of the variable, then the parameters
  formula::Program<double> end;        // of an index of `ends`, then the parameters
  bool endless = false;                // a limit may be infinite
  double relative = 1e-10, absolute = 0;
  int most = 20'000;               // evaluations of one integral
  double caution = 1;              // the errors of cells are multiplied by it
  std::int64_t first = 0, of = 0;  // a batch of so many begins so far before these; 0: these are all

  std::vector<std::string> names() const;  // of the parameters
  int breaks() const { return static_cast<int>(ends.size()) - 2; }
};

// Throws Error for options that make no sense.
const BatchOptions& batch_options_of(const Arguments& arguments);

struct Breakpoints {
  // Where a part that is linear in the variable is 0: x-k at k. There abs(x-k), sign(x-k), comparisons, min
  // and max are not smooth, and exp(-(x-k)^2) has its peak.
  std::vector<formula::Tree> places;
  // Whether every kink and jump is among them. floor(x), abs(sin(x)) and x^3<k have others.
  bool complete = true;
};

// At most so many places.
Breakpoints breakpoints_of(const formula::Tree& tree, const std::string& variable, std::size_t most);

}  // namespace tessera::integrate_batch
