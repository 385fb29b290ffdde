// SPDX-License-Identifier: Apache-2.0
#include "option_use.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <vector>
#include "tessera/core/error.hpp"

namespace tessera::integration {
namespace {

constexpr OptionUse uses[] = {
    {"auto", Way::strips, caps | strips | adding},
    {"trapezoid", Way::strips, caps | strips | adding},
    {"auto", Way::one_variable, points | caps},
    {"richardson", Way::one_variable, caps},
    {"simpson", Way::one_variable, caps},
    {"gauss_kronrod", Way::one_variable, points | caps},
    {"tanh_sinh", Way::one_variable, points | caps},
    {"oscillating", Way::one_variable, points | caps},
    {"epsilon", Way::one_variable, points | caps},
    {"auto", Way::several_variables, caps},
    {"tanh_sinh", Way::several_variables, caps},
    {"genz_malik", Way::several_variables, caps},
    {"gauss_kronrod", Way::several_variables, caps},
    {"quasi_random", Way::several_variables, caps | random_seed},
    {"vegas", Way::several_variables, caps | random_seed},
    {"auto", Way::samples, 0},
    {"trapezoid", Way::samples, 0},
    {"simpson", Way::samples, 0},
};

constexpr struct {
  const char* name;
  Option option;
} flags[] = {{"points", points},           {"most-evaluations", caps}, {"most-seconds", caps},
             {"random-seed", random_seed}, {"strips", strips},         {"sum", adding},
             {"abscissa", adding},         {"scale-at", adding},       {"roots", adding}};

const char* words_of(Way way) {
  switch (way) {
    case Way::strips:
      return "a sum of strips";
    case Way::one_variable:
      return "one variable";
    case Way::several_variables:
      return "several variables";
    case Way::samples:
      break;
  }
  return "samples";
}

// Whom the option is for, as a sentence goes on: "--rule vegas (several variables)".
std::string users_of(Option option) {
  if (option == strips || option == adding)
    return "a sum of strips, which --strips without a --rule, or --rule trapezoid, asks for";
  if (option == caps) return "formulas: samples are as many as they are";
  std::string out;
  Way way{};
  for (const OptionUse& use : uses) {
    if ((use.uses & option) == 0) continue;
    out += fmt::format("{}{}", out.empty() ? "--rule " : ", ", use.rule);
    way = use.way;
  }
  return fmt::format("{} of {}", out, words_of(way));
}

}  // namespace

std::span<const OptionUse> option_uses() { return uses; }

void check_options(const Arguments& arguments, Way way) {
  const std::string& rule = arguments.text("rule");
  const OptionUse* const use =
      std::ranges::find_if(uses, [&](const OptionUse& one) { return one.rule == rule && one.way == way; });
  if (use == std::end(uses)) return;  // whoever knows the rule says that it does not suit
  for (const auto& [name, option] : flags) {
    const std::string& word = arguments.words().at(name);
    if ((use->uses & option) != 0 || word == arguments.signature().at(name).value) continue;
    throw Error(fmt::format("--{} {} would be ignored: --rule {} of {} does not use it; it is for {}", name,
                            word, rule, words_of(way), users_of(option)));
  }
}

}  // namespace tessera::integration
