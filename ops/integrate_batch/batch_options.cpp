// SPDX-License-Identifier: Apache-2.0
#include "batch_options.hpp"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include "ops/integrate/integrate_options.hpp"
#include "ops/integrate/quadrature/formula/linear_zeros.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::integrate_batch {
namespace {

using integration::number_of;
using integration::parts_of;

// With many jumps in a cell, the rule's error may be too small: by up to four times in thousands of random
// staircases, sawtooth and rectified waves.
constexpr double caution_of_jumps = 12;

// Splits "k=0.5:20:log" into {"k", "0.5", "20", "log"}.
std::vector<std::string> pieces_of(const std::string& word) {
  std::vector<std::string> out(1);
  bool named = false;
  for (const char c : word) {
    if ((c == '=' && !named) || (c == ':' && named)) {
      named = true;
      out.emplace_back();
    } else if (c != ' ') {
      out.back() += c;
    }
  }
  return out;
}

NamedParameter parameter_of(const std::string& word) {
  const auto pieces = pieces_of(word);
  NamedParameter out;
  out.name = pieces[0];
  if (!is_name(out.name) || formula::find_constant(out.name) || formula::find_function(out.name))
    throw Error("--parameters: '" + word + "' names no parameter: write k, k=FROM:TO or k=FROM:TO:log");
  if (pieces.size() == 1) return out;
  const bool log = pieces.size() == 4 && pieces[3] == "log";
  if (pieces.size() > 3 && !log)
    throw Error("--parameters: '" + word + "' is no range: write " + out.name + "=FROM:TO or " + out.name +
                "=FROM:TO:log");
  out.spread = log ? geometric : even;
  out.from = number_of(pieces[1], "--parameters");
  out.to = pieces.size() > 2 ? number_of(pieces[2], "--parameters") : out.from;
  if (!std::isfinite(out.from) || !std::isfinite(out.to) ||
      (log && !(out.to / out.from > 0 && std::isfinite(out.to / out.from))))
    throw Error("--parameters: '" + word + "' needs two finite numbers" + (log ? " of one sign" : ""));
  return out;
}

std::vector<NamedParameter> parameters_of(const Arguments& arguments) {
  std::vector<NamedParameter> out;
  const std::string& text = arguments.text("parameters");
  if (!text.empty())
    for (const std::string& word : parts_of(text)) {
      out.push_back(parameter_of(word));
      for (std::size_t i = 0; i + 1 < out.size(); ++i)
        if (out[i].name == out.back().name) throw Error("--parameters: " + out[i].name + " is named twice");
    }
  if (out.size() > max_parameters)
    throw Error(fmt::format("--parameters: at most {}, not {}", max_parameters, out.size()));
  const auto columns = std::ranges::count(out, int{given}, &NamedParameter::spread);
  const std::int64_t columns_of_p = arguments.has("P") ? arguments.array("P").extents[1] : 0;
  if (columns != columns_of_p)
    throw Error(arguments.has("P")
                    ? fmt::format("P has {} columns, but --parameters names {} without a range", columns_of_p,
                                  columns)
                    : "--parameters: " + std::ranges::find(out, int{given}, &NamedParameter::spread)->name +
                          " has no range, and there is no array to take it from: --p FILE");
  return out;
}

std::vector<std::string> limits_of(const std::string& text, std::string& variable) {
  variable = "x";
  std::vector<std::string> out;
  const std::size_t equals = text.find("=[");
  if (equals != std::string::npos && text.ends_with(']')) {
    variable = text.substr(0, equals);
    out = parts_of(text.substr(equals + 2, text.size() - equals - 3));
  } else {
    out = integration::words_in(text);
  }
  if (out.size() != 2 || !is_name(variable))
    throw Error("the limits '" + text +
                "' are not two: write FROM TO for x, or t=[FROM,TO]; they may hold parameters");
  integration::check_free(variable);
  return out;
}

formula::Tree end_tree(const std::string& text, const std::string& variable, const BatchOptions& options) {
  formula::Tree out = formula::parse(text);
  const auto names = options.names();
  for (const std::string& name : out.names())
    if (std::ranges::find(names, name) == names.end())
      throw Error("the limit or break " + text + " holds " + name + ", which is " +
                  (name == variable ? "the variable" : "no parameter"));
  return out;
}

// Returns which_ == 0 ? first : which_ == 1 ? second : …
formula::Program<double> one_program(const std::vector<formula::Tree>& ends,
                                     const std::vector<std::string>& names) {
  formula::Tree all = ends.back();
  for (std::size_t i = ends.size() - 1; i-- > 0;) {
    formula::Tree choice = formula::parse(fmt::format("which_=={} ? this_ : others_", i));
    choice = formula::substitute(choice, "this_", ends[i]);
    all = formula::substitute(choice, "others_", all);
  }
  std::vector<std::string> inputs{"which_"};
  inputs.insert(inputs.end(), names.begin(), names.end());
  return formula::compile<double>(all, inputs);
}

// True unless the limit is a finite number.
bool may_be_infinite(const std::string& limit) {
  return !formula::parse(limit).names().empty() || !std::isfinite(number_of(limit, "LIMITS"));
}

double positive(const Arguments& arguments, const std::string& name, double otherwise) {
  const std::string& text = arguments.text(name);
  const double out = text.empty() ? otherwise : number_of(text, "--" + name);
  if (!(out >= 0 && std::isfinite(out)))
    throw Error("--" + name + " needs a finite number from 0 on, not " + text);
  return out;
}

void read_part(const Arguments& arguments, BatchOptions& options) {
  options.first = arguments.integer("first");
  const std::int64_t here = arguments.array("integrals").extents[0];
  if (!arguments.text("of").empty()) options.of = arguments.integer("of");
  else if (options.first != 0)
    throw Error("--first needs --of, which says how many integrals there are in all");
  if (options.of != 0 && options.first + here > options.of)
    throw Error(fmt::format("integrals {} to {} are more than the {} of --of", options.first,
                            options.first + here, options.of));
}

BatchOptions read(const Arguments& arguments) {
  BatchOptions out;
  out.parameters = parameters_of(arguments);
  const auto limits = limits_of(arguments.text("LIMITS"), out.variable);
  std::vector<std::string> inputs{out.variable};
  for (const std::string& name : out.names()) {
    if (name == out.variable) throw Error("--parameters: " + name + " is the variable");
    inputs.push_back(name);
  }
  out.formula = formula::parse(arguments.text("FORMULA"));
  out.integrand = formula::compile<double>(out.formula, inputs);
  for (const std::string& limit : limits) out.ends.push_back(end_tree(limit, out.variable, out));
  if (const std::string& points = arguments.text("points"); !points.empty())
    for (const std::string& point : parts_of(points)) out.ends.push_back(end_tree(point, out.variable, out));
  if (out.ends.size() > max_breaks + 2)
    throw Error(fmt::format("--points: at most {}, not {}", max_breaks, out.ends.size() - 2));
  quadrature::LinearZeros breakpoints =
      quadrature::linear_zeros(out.formula, out.variable, max_breaks + 2 - out.ends.size());
  for (formula::Tree& place : breakpoints.places) out.ends.push_back(std::move(place));
  if (!breakpoints.complete) out.caution = caution_of_jumps;
  for (const std::string& name : out.names()) {
    const auto holds = [&](const formula::Tree& tree) {
      return std::ranges::find(tree.names(), name) != tree.names().end();
    };
    if (!holds(out.formula) && std::ranges::none_of(out.ends, holds))
      throw Error("--parameters: neither the formula nor a limit or break holds " + name);
  }
  out.endless = std::ranges::any_of(limits, [](const std::string& limit) { return may_be_infinite(limit); });
  out.end = one_program(out.ends, out.names());
  if (arguments.has("T") && !arguments.text("relative").empty())
    throw Error("--relative would be ignored: --t has a relative tolerance for each integral");
  out.relative = positive(arguments, "relative", out.relative);
  out.absolute = positive(arguments, "absolute", out.absolute);
  out.most = static_cast<int>(arguments.integer("most-evaluations"));
  read_part(arguments, out);
  return out;
}

}  // namespace

std::vector<std::string> BatchOptions::names() const {
  std::vector<std::string> out;
  for (const NamedParameter& p : parameters) out.push_back(p.name);
  return out;
}

const BatchOptions& batch_options_of(const Arguments& arguments) {
  return arguments.derived<BatchOptions>([&] { return read(arguments); });
}

}  // namespace tessera::integrate_batch
