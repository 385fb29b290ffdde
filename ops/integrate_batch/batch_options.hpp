// SPDX-License-Identifier: Apache-2.0
// The options of a batch: formula, range, parameters and tolerance.
#pragma once
#include <string>
#include <vector>
#include "rule.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/formula/program.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integrate_batch {

// A parameter's name and the source of its values: a column of the array, or a range.
struct NamedParameter {
  std::string name;
  int spread = given;  // a Spread
  double from = 0, to = 0;
};

struct BatchOptions {
  std::string variable;
  std::vector<NamedParameter> parameters;
  formula::Tree formula;               // in the variable and the parameters
  std::vector<formula::Tree> ends;     // in the parameters: both limits, then breakpoints
  formula::Program<double> integrand;  // inputs: the variable, then the parameters
  formula::Program<double> end;        // inputs: an index of `ends`, then the parameters
  bool endless = false;                // a limit may be infinite
  double relative = 1e-10, absolute = 0;
  int most = 20'000;               // evaluations of one integral
  double caution = 1;              // the errors of cells are multiplied by it
  std::int64_t first = 0, of = 0;  // these begin at `first` of `of` integrals; of = 0: these are all

  std::vector<std::string> names() const;  // the parameters
  int breaks() const { return static_cast<int>(ends.size()) - 2; }
};

// Throws Error for invalid options.
const BatchOptions& batch_options_of(const Arguments& arguments);

}  // namespace tessera::integrate_batch
