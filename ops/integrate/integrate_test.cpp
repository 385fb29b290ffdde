// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <cstring>
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integration {
namespace {

const Operation& integrate_operation() { return *find_operation("integrate"); }

Arguments arguments_of(Arguments::Words words, Element element = Element::f64) {
  words.try_emplace("FORMULA", "sqrt(1-x^2)");
  words.try_emplace("LIMITS", "0 1");
  return {integrate_operation().signature, element, {}, words};
}

double result_of(const Arguments::Words& words, Element element = Element::f64,
                 const Request& request = {.device = "cpu"}) {
  Arguments arguments = arguments_of(words, element);
  const Outcome outcome = run(integrate_operation(), arguments, request);
  const ArrayView& view = outcome.outputs.at("integral").view();
  return load_as_double(view.element, view.data);
}

const Request naive{.device = "cpu", .variant = "naive"};

std::string complaint(const Arguments::Words& words, const Request& request = {.device = "cpu"}) {
  try {
    return "none: " + std::to_string(result_of(words, Element::f64, request));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user);
    return error.what();
  }
}

// Every rung of our own, on the processors, on the executor and on a GPU where there is one, with launches of
// many shapes.
std::vector<Request> everybody() {
  std::vector<Request> out;
  for (const Variant* variant : ladder_of("integrate")) {
    Backend* const backend = find_backend(variant->where);
    if (variant->baseline || variant->name == "rules" || backend == nullptr || backend->devices().empty())
      continue;
    const bool gpu = variant->where == Where::cuda;
    const std::string where(name_of(variant->where));
    for (const std::string threads : {":threads=1", ":threads=5"}) {
      const std::string device = gpu ? where : where + threads;
      if (variant->choices[0].ranges.empty()) {
        out.push_back({.device = device, .variant = variant->name});
        continue;
      }
      for (const Tuning& shape : {Tuning{{"block", 1}, {"thread", 1}}, Tuning{{"block", 3}, {"thread", 7}},
                                  Tuning{{"block", 5}, {"thread", 64}}, Tuning{{"block", 8}, {"thread", 33}}})
        out.push_back({.device = device, .variant = variant->name, .tuning = shape});
    }
  }
  return out;
}

// Some take no exact sums, or only blocks of full warps.
bool refused(const Request& request, const Arguments& arguments) {
  const Device device = find_device(request.device);
  for (const Variant* variant : ladder_of("integrate")) {
    if (variant->where != device.where || variant->name != *request.variant) continue;
    Plan plan{variant, &variant->choices[0], variant->choices[0].defaults(), device};
    if (request.tuning)
      for (const auto& [name, value] : *request.tuning) plan.tuning.set(name, value);
    return refuses(plan, arguments).has_value();
  }
  return true;
}

TEST(Integrate, FixedOrdersGiveTheSameBitsEverywhere) {
  for (const char* sum : {"pairwise", "double_float", "exact"})
    for (const char* formula : {"sqrt(1-x^2)", "exp(sin(9*x))-x"})
      for (const Element element : {Element::f64, Element::f32}) {
        const Arguments::Words words{{"FORMULA", formula}, {"strips", "3001"}, {"sum", sum}, {"scale", "4"}};
        const double first = result_of(words, element, everybody().front());
        EXPECT_TRUE(std::isfinite(first));
        int others = 0;
        for (const Request& request : everybody()) {
          if (refused(request, arguments_of(words, element))) continue;
          ++others;
          const double other = result_of(words, element, request);
          EXPECT_EQ(std::bit_cast<std::uint64_t>(first), std::bit_cast<std::uint64_t>(other))
              << formula << " " << sum << " " << name_of(element) << " by " << *request.variant << " on "
              << request.device << " " << (request.tuning ? to_string(*request.tuning) : "");
        }
        EXPECT_GE(others, 36);
      }
}

// Where the order is the launch's own, the launch shows.
TEST(Integrate, PlainSumsDependOnTheLaunch) {
  const Arguments::Words words{{"strips", "65536"}, {"sum", "plain"}, {"scale", "4"}};
  const double one = result_of(words, Element::f32, {.device = "simt", .variant = "one_thread"});
  EXPECT_EQ(one, result_of(words, Element::f32, naive));
  EXPECT_NE(one, result_of(words, Element::f32,
                           {.device = "simt",
                            .variant = "strips_per_thread",
                            .tuning = Tuning{{"block", 16}, {"thread", 16}}}));
}

// What the note saw in float, each sample multiplied and added to one number …
TEST(Integrate, OneAccumulatorOfFloatsDrifts) {
  const auto pi = [](const char* strips) {
    return result_of({{"strips", strips}, {"sum", "plain"}, {"scale-at", "term"}, {"scale", "4"}},
                     Element::f32, naive);
  };
  EXPECT_NEAR(pi("65536"), 3.141592264, 5e-10);
  EXPECT_NEAR(pi("65536*8"), 3.141903400, 5e-10);
  EXPECT_NEAR(pi("65536*16"), 3.140739918, 5e-10);
  // … up to where every sample counts as one unit or none: at √3/2.
  EXPECT_NEAR(pi("65536*256"), 2 * std::sqrt(3.0), 1e-6);
}

// … and in double; and what the end at x = 1 costs by theory: 4√2 ζ(-1/2) h^1.5.
TEST(Integrate, TheTrapezoidErrorMatchesItsTheory) {
  constexpr double pi = 3.14159265358979323846, zeta = -0.20788622497735456602;  // ζ(-1/2)
  for (const char* sum : {"plain", "pairwise", "kahan", "double_float", "exact"}) {
    EXPECT_NEAR(result_of({{"strips", "65536"}, {"sum", sum}, {"scale", "4"}}), 3.141592583496, 1e-12) << sum;
    EXPECT_NEAR(result_of({{"strips", "65536"}, {"sum", sum}, {"scale", "4"}}) - pi,
                4 * std::sqrt(2.0) * zeta * std::pow(65536.0, -1.5), 1e-13)
        << sum;
  }
  for (const char* sum : {"pairwise", "kahan", "double_float", "exact"})
    EXPECT_NEAR(result_of({{"strips", "65536*16"}, {"sum", sum}, {"scale", "4"}}, Element::f32), pi, 3e-7)
        << sum;
}

TEST(Integrate, AcceptsFormulasAndReversedLimits) {
  const Arguments::Words forth{{"FORMULA", "x*x+k"}, {"LIMITS", "-1 pi/2 k=0.5"}, {"strips", "100"}};
  const Arguments::Words back{{"FORMULA", "t*t+0.5"}, {"LIMITS", "t=[pi/2,-1]"}, {"strips", "100"}};
  EXPECT_NEAR(result_of(forth), -result_of(back), 1e-14);
  EXPECT_NEAR(result_of(forth), (std::pow(std::acos(-1.0) / 2, 3) + 1) / 3 + 0.5 * (std::acos(-1.0) / 2 + 1),
              1e-3);
  EXPECT_EQ(result_of({{"LIMITS", "0.5 0.5"}, {"strips", "8"}}), 0);
}

TEST(Integrate, ReportsInvalidOptions) {
  using Words = Arguments::Words;
  const auto says = [](const Words& words, const char* part) {
    const std::string text = complaint(words);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says({{"strips", "0"}}, "--strips 0 is out of its range");
  says({{"strips", "-5"}}, "out of its range");
  says({{"LIMITS", ""}}, "the limits are missing");
  says({{"LIMITS", "0"}}, "x needs two");
  says({{"LIMITS", "0 1 2"}}, "'2' is one limit too many");
  says({{"LIMITS", "0 inf"}, {"strips", "8"}}, "finite limits");
  says({{"LIMITS", "0 inf-inf"}}, "not a number");
  says({{"LIMITS", "0 y"}}, "y");
  says({{"LIMITS", "0 1 x=[0,1]"}}, "bound twice");
  says({{"LIMITS", "0 1 x=3"}, {"FORMULA", "x"}}, "bound twice");
  says({{"LIMITS", "t=[0,1] 0 1"}, {"FORMULA", "t"}}, "holds no x");
  says({{"LIMITS", "0 1 y=3"}, {"FORMULA", "y"}}, "holds no x");
  says({{"LIMITS", "0 1 y=3"}, {"FORMULA", "y"}, {"strips", "8"}}, "holds no x");
  says({{"LIMITS", "x=[0,1,2]"}}, "needs two limits");
  says({{"LIMITS", "x=[0,1] y=[0,1]"}, {"FORMULA", "x*y"}, {"strips", "8"}}, "one range, not 2");
  says({{"FORMULA", "x+y"}}, "y");
  says({{"FORMULA", "sqrt(1-x^2"}}, "column");
  says({{"FORMULA", ""}}, "the FORMULA is missing");
  says({{"scale", "nan"}}, "finite number");
  says({{"LIMITS", "0 1 e=3"}, {"FORMULA", "pi*e"}}, "e is a constant");
  says({{"LIMITS", "x=[0,1] e=[0,2]"}, {"FORMULA", "x*e"}}, "e is a constant");
  says({{"LIMITS", "0 1 sqrt=2"}}, "sqrt is a function");
  says({{"LIMITS", "0 1 k=3"}}, "neither the formula nor a limit holds k");
  says({{"LIMITS", "0 1 k=3"}, {"strips", "8"}}, "neither the formula nor a limit holds k");
  says({{"strips", "8"}, {"points", "0.5"}}, "--points is for rules");
  says({{"LIMITS", "[0,1]"}}, "write x=[0,1]");
  says({{"points", "5"}}, "outside of the range");
  says({{"points", "inf"}}, "outside of the range");
}

TEST(Integrate, RespectsTheCapsOnStrips) {
  const auto says = [](const Arguments::Words& words, const char* part, const Request& request) {
    const std::string text = complaint(words, request);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Request simd{.device = "cpu:threads=2", .variant = "simd"}, simt{.device = "simt"};
  says({{"strips", "1000"}, {"most-evaluations", "100"}}, "more than --most-evaluations 100", simd);
  says({{"strips", "1000"}, {"most-evaluations", "100"}}, "more than --most-evaluations 100", simt);
  says({{"strips", "65536*65536*64"}}, "more than 10", simd);
  says({{"strips", "65536*65536*64"}, {"most-seconds", "1"}}, "more than 1", simd);
  says({{"strips", "8"}, {"most-seconds", "0"}}, "more than 0", simd);
}

TEST(Integrate, ReportsAnInfiniteSample) {
  EXPECT_FALSE(std::isfinite(result_of({{"FORMULA", "1/sqrt(x)"}, {"strips", "100"}})));
  EXPECT_TRUE(std::isnan(result_of({{"FORMULA", "sqrt(x-0.5)"}, {"strips", "100"}})));
}

Verdict verdict_on(const Arguments::Words& words, Element element, double value) {
  Arguments arguments = arguments_of(words, element);
  Array memory(element, {});
  store_from_double(element, memory.view().data, value);
  arguments.set_array("integral", memory.view());
  return verify(integrate_operation(), arguments);
}

// The bound lets nothing pass that was computed in the next shorter type, nor a strip too few.
TEST(Integrate, TheBoundCatchesOnePrecisionLower) {
  for (const char* sum : {"plain", "pairwise", "kahan", "double_float", "exact"}) {
    const Arguments::Words words{{"strips", "1000"}, {"sum", sum}, {"FORMULA", "exp(x)"}};
    const double right = result_of(words);
    EXPECT_TRUE(verdict_on(words, Element::f64, right).passed) << sum;
    EXPECT_FALSE(verdict_on(words, Element::f64, result_of(words, Element::f32)).passed) << sum;
    EXPECT_FALSE(
        verdict_on(words, Element::f64, result_of({{"strips", "999"}, {"FORMULA", "exp(x)"}})).passed)
        << sum;
    EXPECT_FALSE(verdict_on(words, Element::f64, std::nan("")).passed) << sum;
    Array half(Element::f16, {});
    store_from_double(Element::f16, half.view().data, right);
    const double shorter = load_as_double(Element::f16, half.view().data);
    EXPECT_TRUE(verdict_on(words, Element::f32, result_of(words, Element::f32)).passed) << sum;
    EXPECT_FALSE(verdict_on(words, Element::f32, shorter).passed) << sum;
  }
}

}  // namespace
}  // namespace tessera::integration
