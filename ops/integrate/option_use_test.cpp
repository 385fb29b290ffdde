// SPDX-License-Identifier: Apache-2.0
// Every option with every rule: it is refused, or it changes what is told.
#include "option_use.hpp"
#include <gtest/gtest.h>
#include <vector>
#include "tessera/core/error.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integration {
namespace {

struct Told {
  std::string refusal;  // none: there is a value
  double value = 0;
  Values values;

  std::string text(const std::string& name) const { return std::get<std::string>(values.at(name)); }
  double number(const std::string& name) const { return std::get<double>(values.at(name)); }
};

const std::vector<double> abscissae{0, 0.25, 0.5, 0.75, 1}, heights{0, 0.1, 0.2, 0.4, 0.9};

Told told(const OptionUse& use, const Arguments::Words& more, const char* device = "cpu:threads=2") {
  const Operation& operation = *find_operation("integrate");
  Arguments::Words words{{"FORMULA", "exp(x)"}, {"LIMITS", "0 1"}, {"rule", use.rule}, {"relative", "1e-3"}};
  const std::string rule = use.rule;
  if (use.way == Way::several_variables)
    words.insert_or_assign("FORMULA", "exp(x*y)"), words.insert_or_assign("LIMITS", "0 1 y=[0,1]");
  if (rule == "oscillating" || rule == "epsilon")
    words.insert_or_assign("FORMULA", "sin(x)/x"), words.insert_or_assign("LIMITS", "1 inf");
  if (use.way == Way::strips) words["strips"] = "1000";
  std::map<std::string, ArrayView> inputs;
  if (use.way == Way::samples) {
    words.insert_or_assign("FORMULA", "y"), words.insert_or_assign("LIMITS", "");
    for (const auto& [name, data] : {std::pair{"X", &abscissae}, std::pair{"Y", &heights}}) {
      ArrayView view;
      view.element = Element::f64;
      view.data = const_cast<double*>(data->data());
      view.extents = {static_cast<std::int64_t>(data->size())};
      view.strides = {1};
      inputs[name] = view;
    }
  }
  for (const auto& [name, word] : more) words[name] = word;
  Told out;
  try {
    Arguments arguments(operation.signature, Element::f64, inputs, words);
    const Outcome outcome = run(operation, arguments, {.device = device, .cached = false});
    out.value = load_as_double(Element::f64, arguments.array("integral").data);
    out.values = outcome.values;
  } catch (const Error& error) {
    out.refusal = error.what();
  }
  return out;
}

std::string name_of(const OptionUse& use) {
  return std::string(use.rule) + ", way " + std::to_string(static_cast<int>(use.way));
}

TEST(OptionUse, WhatARuleDoesNotUseIsRefused) {
  const struct {
    Option option;
    const char *name, *word;
  } tried[] = {
      {points, "points", "0.5"},           {caps, "most-evaluations", "30"}, {caps, "most-seconds", "5"},
      {random_seed, "random-seed", "7"},   {strips, "strips", "12"},         {adding, "sum", "kahan"},
      {adding, "abscissa", "accumulated"}, {adding, "scale-at", "term"},     {adding, "roots", "fast"}};
  for (const OptionUse& use : option_uses()) {
    ASSERT_EQ(told(use, {}).refusal, "") << name_of(use);
    for (const auto& [option, name, word] : tried) {
      if ((use.uses & option) != 0) continue;
      if (option == strips && std::string(use.rule) == "auto") continue;  // it asks for the sum then
      const std::string refusal = told(use, {{name, word}}).refusal;
      EXPECT_NE(refusal.find("would be ignored"), std::string::npos)
          << name_of(use) << " with --" << name << ": " << refusal;
    }
  }
}

TEST(OptionUse, WhatItUsesChangesSomething) {
  for (const OptionUse& use : option_uses()) {
    const bool several = use.way == Way::several_variables, sum = use.way == Way::strips;
    if ((use.uses & caps) != 0 && !sum) {
      const Told few = told(use, {{"most-evaluations", several ? "300" : "20"}, {"relative", "1e-9"}});
      EXPECT_EQ(few.refusal, "") << name_of(use);
      EXPECT_EQ(few.text("reason"), "cap reached: evaluations") << name_of(use);
      const Told late = told(use, {{"most-seconds", "1e-9"}, {"relative", "1e-9"}});
      // Few evaluations are over before any clock is asked.
      if (several && std::string(use.rule) != "tanh_sinh") {
        EXPECT_EQ(late.text("reason"), "cap reached: time") << name_of(use);
      }
    }
    if ((use.uses & random_seed) != 0) {
      EXPECT_NE(told(use, {}).value, told(use, {{"random-seed", "7"}}).value) << name_of(use);
    }
    if ((use.uses & points) != 0) {
      const char* const at = use.rule == std::string("auto") ? "0.5" : "1.5";
      const bool tail = use.rule == std::string("oscillating") || use.rule == std::string("epsilon");
      const Told cut = told(use, {{"points", tail ? at : "0.5"}});
      EXPECT_NE(cut.values.at("evaluations"), told(use, {}).values.at("evaluations")) << name_of(use);
    }
    if (!sum) continue;
    EXPECT_NE(told(use, {{"most-evaluations", "30"}}).refusal, "") << name_of(use);
    EXPECT_LT(told(use, {{"sum", "exact"}}).number("rounding"),
              told(use, {{"sum", "plain"}}).number("rounding"));
    // Ten thousand, of which no width is exact.
    const Arguments::Words index{{"strips", "10000"}, {"sum", "plain"}};
    Arguments::Words accumulated = index;
    accumulated["abscissa"] = "accumulated";
    EXPECT_NE(told(use, accumulated).value, told(use, index).value);
    EXPECT_NE(told(use, {{"strips", "12"}}).value, told(use, {}).value);
  }
}

TEST(OptionUse, NoDeviceAddsStripsWhereAnotherRuleIsNamed) {
  for (const char* rule : {"simpson", "gauss_kronrod", "tanh_sinh", "richardson"})
    for (const char* device : {"cpu:threads=1", "simt"})
      EXPECT_NE(told({rule, Way::one_variable, 0}, {{"strips", "12"}}, device).refusal, "") << rule << device;
}

TEST(OptionUse, UsualValuesAreNoRequest) {
  for (const OptionUse& use : option_uses())
    EXPECT_EQ(told(use, {{"sum", "pairwise"}, {"random-seed", "1"}, {"points", ""}}).refusal, "")
        << name_of(use);
}

}  // namespace
}  // namespace tessera::integration
