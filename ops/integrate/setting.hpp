// SPDX-License-Identifier: Apache-2.0
// What the words of a command mean: which formula over which range, in how many strips, added how.
// Installed: for whoever writes a rung.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "sums.hpp"
#include "tessera/core/arguments.hpp"
#include "tessera/core/device.hpp"
#include "tessera/formula/program.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::integration {

// A formula without variables, "pi/2"; `what` it is, for the message where it is no number.
double number_of(const std::string& text, const std::string& what);
// "0,pi/2" → two formulas, at the comma that no bracket encloses.
std::vector<std::string> parts_of(const std::string& text);

// A variable and its limits, as numbers and as they were written.
struct Range1 {
  std::string variable;
  double from = 0, to = 0;
  std::string from_text, to_text;
};

struct Fixed {
  std::string name;
  double value = 0;
};

// "0 1" binds x; "x=[0,1] y=[-inf,inf]" names what it binds; "k=3" fixes a parameter. Limits are formulas
// without variables. Throws Error for anything else, for a limit that is no number, and where nothing is
// bound.
struct Limits {
  std::vector<Range1> ranges;
  std::vector<Fixed> fixed;
};
Limits read_limits(const std::string& words);

// What the text says, with parameters as the numbers that they are. Throws Error for one that it does not
// hold.
formula::Tree formula_with(const std::string& text, const std::vector<Fixed>& fixed);

// Throws Error where limits without a name bind x, and the formula holds other variables but no x.
void check_bare_limits(const std::string& text, const std::string& limits);

// Throws Error for a name that formulas know as a constant or a function: it cannot be given a value.
void check_free(const std::string& name);

// One range, in strips.
struct Setting {
  std::string formula;
  Limits limits;
  double a = 0, b = 0, scale = 1;
  std::int64_t strips = 1;
  std::optional<double> most_seconds;  // where somebody said
  Sum sum = Sum::pairwise;
  bool accumulated = false, scale_terms = false;
};

// Why no sum of strips is meant: there are samples, or the words name another rule, or neither strips nor the
// trapezoid.
std::optional<std::string> not_of_strips(const Arguments& arguments);

// Throws Error where the trapezoid sum cannot do what the words ask: several ranges, an infinite limit, more
// strips than a cap allows or than any device adds in the time allowed.
Setting setting_of(const Arguments& arguments);

// How long the sum may take, where somebody said; 0: nobody did.
double seconds_allowed(const Arguments& arguments);
// What a rung tells that was stopped then: no value, and why.
void tell_unfinished(const Arguments& arguments, Run& run);

// Compiled once and kept: asking again for the same formula costs a comparison.
template <class T>
const formula::Program<T>& program_of(const Setting& setting);
extern template const formula::Program<float>& program_of<float>(const Setting&);
extern template const formula::Program<double>& program_of<double>(const Setting&);

}  // namespace tessera::integration
