// SPDX-License-Identifier: Apache-2.0
#include "setting.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include "ops/integrate/evaluate.hpp"
#include "ops/integrate/setting.hpp"
#include "tessera/core/error.hpp"

namespace tessera::integrate_batch {
namespace {

using integration::number_of;
using integration::parts_of;

// Among thousands of random staircases, saws and rectified waves the errors of cells were up to four times
// too small.
constexpr double caution_of_steps = 12;

// "k=0.5:20:log" → {"k", "0.5", "20", "log"}.
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

Parameter1 parameter_of(const std::string& word) {
  const auto pieces = pieces_of(word);
  Parameter1 out;
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

std::vector<Parameter1> parameters_of(const Arguments& arguments) {
  std::vector<Parameter1> out;
  const std::string& text = arguments.text("parameters");
  if (!text.empty())
    for (const std::string& word : parts_of(text)) {
      out.push_back(parameter_of(word));
      for (std::size_t i = 0; i + 1 < out.size(); ++i)
        if (out[i].name == out.back().name) throw Error("--parameters: " + out[i].name + " is named twice");
    }
  if (out.size() > most_parameters)
    throw Error(fmt::format("--parameters: at most {}, not {}", most_parameters, out.size()));
  const auto columns = std::ranges::count(out, int{given}, &Parameter1::spread);
  const std::int64_t there = arguments.has("P") ? arguments.array("P").extents[1] : 0;
  if (columns != there)
    throw Error(
        arguments.has("P")
            ? fmt::format("P has {} columns, but --parameters names {} without a range", there, columns)
            : "--parameters: " + std::ranges::find(out, int{given}, &Parameter1::spread)->name +
                  " has no range, and there is no array to take it from: --p FILE");
  return out;
}

// Both limits, and the variable's name.
std::vector<std::string> limits_of(const std::string& text, std::string& variable) {
  variable = "x";
  std::vector<std::string> out;
  const std::size_t equals = text.find("=[");
  if (equals != std::string::npos && text.ends_with(']')) {
    variable = text.substr(0, equals);
    out = parts_of(text.substr(equals + 2, text.size() - equals - 3));
  } else {
    int depth = 0;
    bool fresh = true;
    for (const char c : text) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      const bool blank = c == ' ' && depth <= 0;
      if (!blank && fresh) out.emplace_back();
      if (!blank) out.back() += c;
      fresh = blank;
    }
  }
  if (out.size() != 2 || !is_name(variable))
    throw Error("the limits '" + text +
                "' are not two: write FROM TO for x, or t=[FROM,TO]; they may hold parameters");
  integration::check_free(variable);
  return out;
}

formula::Tree end_tree(const std::string& text, const std::string& variable, const Setting& setting) {
  formula::Tree out = formula::parse(text);
  const auto names = setting.names();
  for (const std::string& name : out.names())
    if (std::ranges::find(names, name) == names.end())
      throw Error("the limit or break " + text + " holds " + name + ", which is " +
                  (name == variable ? "the variable" : "no parameter"));
  return out;
}

// which_ == 0 ? first : which_ == 1 ? second : …
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

// Whether some integral may have what its first cells would not see. Parameters from an array are not looked
// at.
bool holds_narrow(const Setting& setting, const formula::Program<double>& end) {
  constexpr int tries = 1025;
  constexpr double plain = 0x1p-8;  // of a range: seen without more cells
  std::vector<Column> columns;
  for (const Parameter1& p : setting.parameters) {
    if (p.spread == given) return true;
    columns.push_back({nullptr, 0, p.from, p.to, p.spread, 0, 0});
  }
  std::vector<double> inputs(1 + columns.size());
  const auto value = [&](std::size_t which) {
    inputs[0] = static_cast<double>(which);
    return integration::evaluate(end, static_cast<const double*>(inputs.data()));
  };
  for (int i = 0; i < tries; ++i) {
    for (std::size_t k = 0; k < columns.size(); ++k) inputs[1 + k] = parameter_of(columns[k], i, tries);
    double low = INFINITY, high = -INFINITY;
    for (std::size_t k = 0; k < setting.ends.size(); ++k)
      if (const double at = value(k); std::isfinite(at)) low = std::min(low, at), high = std::max(high, at);
    const bool open = !std::isfinite(value(0)) || !std::isfinite(value(1));
    if (open && !(value(setting.ends.size() + 1) < 1 / plain)) return true;
    const double reach = high > low ? std::max(high - low, 1.0) / 2 : 1;
    if (!(value(setting.ends.size()) > plain * reach)) return true;
  }
  return false;
}

// With how narrow the formula may be behind the ends; none where its text grew too long or too deep to be
// followed.
std::optional<formula::Program<double>> measuring_program(const Setting& setting,
                                                          const std::vector<std::string>& texts) {
  try {
    std::vector<formula::Tree> ends = setting.ends;
    for (const std::string& text : texts) ends.push_back(formula::parse(text));
    return one_program(ends, setting.names());
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Integrals without anything narrow keep the shorter program.
void measure(Setting& setting, const std::vector<std::string>& limits) {
  const auto texts = lengths(setting, limits);
  if (texts.empty()) return;
  const auto end = measuring_program(setting, texts);
  if (!end || !holds_narrow(setting, *end)) return;
  setting.end = *end;
  setting.measured = true;
}

// Unless it is a finite number.
bool may_be_infinite(const std::string& limit) {
  return !formula::parse(limit).names().empty() || !std::isfinite(number_of(limit, "LIMITS"));
}

// A number that tells the signs of all of them, as far as such a text can be followed.
void search_the_rest(Setting& setting, const std::vector<std::string>& inputs) {
  const auto parts = unsolved_parts(setting.formula, setting.variable);
  const int room = std::min(most_searched, most_breaks - setting.breaks());
  if (parts.empty() || room <= 0) return;
  try {
    formula::Tree all = formula::parse("0");
    for (const formula::Tree& part : parts)
      all = formula::substitute(formula::substitute(formula::parse("3*these_+sign(this_)"), "these_", all),
                                "this_", part);
    setting.signs = formula::compile<double>(all, inputs);
    setting.searched = room;
  } catch (const Error&) {
    setting.searched = 0;
  }
}

double positive(const Arguments& arguments, const std::string& name, double otherwise) {
  const std::string& text = arguments.text(name);
  const double out = text.empty() ? otherwise : number_of(text, "--" + name);
  if (!(out >= 0 && std::isfinite(out)))
    throw Error("--" + name + " needs a finite number from 0 on, not " + text);
  return out;
}

void set_place(const Arguments& arguments, Setting& setting) {
  setting.first = arguments.integer("first");
  const std::int64_t here = arguments.array("integrals").extents[0];
  if (!arguments.text("of").empty()) setting.of = arguments.integer("of");
  else if (setting.first != 0)
    throw Error("--first needs --of, which says how many integrals there are in all");
  if (setting.of != 0 && setting.first + here > setting.of)
    throw Error(fmt::format("integrals {} to {} are more than the {} of --of", setting.first,
                            setting.first + here, setting.of));
}

// What the look at a few integrals depends on: how many there are is not of it.
std::string question_of(const Arguments& arguments) {
  std::string out;
  for (const char* const name :
       {"FORMULA", "LIMITS", "parameters", "points", "relative", "absolute", "most-evaluations"})
    out += fmt::format("{}={}\n", name, arguments.words().contains(name) ? arguments.words().at(name) : "");
  return out;
}

Setting read(const Arguments& arguments) {
  Setting out;
  out.formula_text = arguments.text("FORMULA");
  out.parameters = parameters_of(arguments);
  const auto limits = limits_of(arguments.text("LIMITS"), out.variable);
  std::vector<std::string> inputs{out.variable};
  for (const std::string& name : out.names()) {
    if (name == out.variable) throw Error("--parameters: " + name + " is the variable");
    inputs.push_back(name);
  }
  out.formula = formula::parse(out.formula_text);
  out.integrand = formula::compile<double>(out.formula, inputs);
  for (const std::string& limit : limits) out.ends.push_back(end_tree(limit, out.variable, out));
  if (const std::string& points = arguments.text("points"); !points.empty())
    for (const std::string& point : parts_of(points)) out.ends.push_back(end_tree(point, out.variable, out));
  if (out.ends.size() > most_breaks + 2)
    throw Error(fmt::format("--points: at most {}, not {}", most_breaks, out.ends.size() - 2));
  std::vector<formula::Tree> zeros = linear_zeros(out.formula, out.variable);
  const bool all_cut = out.ends.size() + zeros.size() <= most_breaks + 2;
  for (formula::Tree& zero : solved_zeros(out.formula, out.variable)) zeros.push_back(std::move(zero));
  for (formula::Tree& zero : zeros)
    if (out.ends.size() < most_breaks + 2) out.ends.push_back(std::move(zero));
  search_the_rest(out, inputs);
  out.caution = has_steps(out.formula, out.variable, all_cut) ? caution_of_steps : 1;
  for (const std::string& name : out.names()) {
    const auto holds = [&](const formula::Tree& tree) {
      return std::ranges::find(tree.names(), name) != tree.names().end();
    };
    if (!holds(out.formula) && std::ranges::none_of(out.ends, holds))
      throw Error("--parameters: neither the formula nor a limit or break holds " + name);
  }
  out.endless = std::ranges::any_of(limits, [](const std::string& limit) { return may_be_infinite(limit); });
  out.end = one_program(out.ends, out.names());
  measure(out, limits);
  if (arguments.has("T") && !arguments.text("relative").empty())
    throw Error("--relative would be ignored: --t has a relative tolerance for each integral");
  out.relative = positive(arguments, "relative", out.relative);
  out.absolute = positive(arguments, "absolute", out.absolute);
  out.most = static_cast<int>(arguments.integer("most-evaluations"));
  set_place(arguments, out);
  out.doubted = contradicted(out, question_of(arguments));
  return out;
}

std::string key_of(const Arguments& arguments) {
  std::string out = arguments.has("P") ? std::to_string(arguments.array("P").extents[1]) : "";
  if (arguments.has("T")) out += "\nT";
  out += fmt::format("\n{}", arguments.array("integrals").extents[0]);
  for (const auto& [name, word] : arguments.words()) out += "\n" + name + "=" + word;
  return out;
}

}  // namespace

std::vector<std::string> Setting::names() const {
  std::vector<std::string> out;
  for (const Parameter1& p : parameters) out.push_back(p.name);
  return out;
}

const Setting& setting_of(const Arguments& arguments) {
  struct Known {
    std::string key;
    Setting setting;
  };
  thread_local Known last;
  std::string key = key_of(arguments);
  if (last.key == key) return last.setting;
  last.key.clear();
  last.setting = read(arguments);
  last.key = std::move(key);
  return last.setting;
}

}  // namespace tessera::integrate_batch
