// SPDX-License-Identifier: Apache-2.0
// Cubature by regions on the executor: the regions of the processors' rule, whatever the launch and however
// the memory grows; and the text that NVRTC is given.
#include <gtest/gtest.h>
#include <cmath>
#include "ops/integrate/kernels/compiled_source.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/cuda/runtime_kernel.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integration {
namespace {

struct Result {
  double integral = 0, error = 0, truncation = 0;
  std::int64_t evaluations = 0;
  std::string reason, why;
};

Result result_by(const Request& request, Arguments::Words words, Element element = Element::f64) {
  const Operation& operation = *find_operation("integrate");
  words.try_emplace("rule", "genz_malik");
  Arguments arguments{operation.signature, element, {}, words};
  const Outcome outcome = run(operation, arguments, request);
  const ArrayView& view = outcome.outputs.at("integral").view();
  Result out;
  out.integral = load_as_double(view.element, view.data);
  out.error = std::get<double>(outcome.values.at("error"));
  out.truncation = std::get<double>(outcome.values.at("truncation"));
  out.evaluations = std::get<std::int64_t>(outcome.values.at("evaluations"));
  out.reason = std::get<std::string>(outcome.values.at("reason"));
  out.why = std::get<std::string>(outcome.values.at("why"));
  return out;
}

const Request processors{.device = "cpu", .variant = "rules"};

Request executor(int threads = 2, int place = 1 << 17) {
  return {.device = "simt:threads=" + std::to_string(threads),
          .variant = "regions",
          .tuning = Tuning{{"place", place}}};
}

struct Tried {
  const char *formula, *limits, *relative;
};

constexpr Tried tried[] = {
    {"exp(-abs(sin(x)-y))", "x=[0,pi] y=[0,1]", "1e-4"},
    {"exp(-(x^2+y^2)/2)", "x=[-inf,inf] y=[-inf,inf]", "1e-5"},
    {"exp(-x)*y/(1+z^2)^2", "x=[0,inf] y=[-1,2] z=[-inf,0.5]", "1e-4"},
    {"1/(0.1+(a-0.3)^2+b*c+d^2)*g", "a=[0,1] b=[0,1] c=[0,2] d=[-1,1] g=[1,0]", "1e-3"},
};

TEST(Regions, MatchTheCpuRule) {
  for (const Tried& t : tried) {
    const Arguments::Words words{{"FORMULA", t.formula}, {"LIMITS", t.limits}, {"relative", t.relative}};
    const Result rule = result_by(processors, words), regions = result_by(executor(), words);
    EXPECT_EQ(rule.reason, "converged") << t.formula;
    EXPECT_EQ(regions.reason, "converged") << t.formula;
    // The same values but for rounding: the same are split.
    EXPECT_EQ(regions.evaluations, rule.evaluations) << t.formula;
    EXPECT_NEAR(regions.integral, rule.integral, 1e-11 * std::fabs(rule.integral)) << t.formula;
    EXPECT_NEAR(regions.truncation, rule.truncation, 1e-6 * rule.truncation) << t.formula;
  }
}

TEST(Regions, AreIndependentOfThreadsAndMemoryGrowth) {
  const Arguments::Words words{
      {"FORMULA", "abs(x-0.4)*cos(3*y)+sqrt(x*y)"}, {"LIMITS", "0 1 y=[0,1]"}, {"relative", "1e-5"}};
  const Result one = result_by(executor(1), words);
  EXPECT_EQ(one.reason, "converged");
  EXPECT_GT(one.evaluations, 2 * 128 * 17) << "more regions than there is place for at first";
  for (const Request& other : {executor(5), executor(2, 128)}) {
    const Result again = result_by(other, words);
    EXPECT_EQ(again.integral, one.integral);
    EXPECT_EQ(again.error, one.error);
    EXPECT_EQ(again.evaluations, one.evaluations);
  }
}

TEST(Regions, KeepToTheirCaps) {
  const Arguments::Words wild{
      {"FORMULA", "sin(1000*x)*sin(1000*y)+sqrt(abs(x-y))"}, {"LIMITS", "0 1 y=[0,1]"}, {"relative", "1e-9"}};
  Arguments::Words few = wild, soon = wild;
  few["most-evaluations"] = "30000";
  soon["most-seconds"] = "0.3";
  soon["most-evaluations"] = "1e12";
  const Result capped = result_by(executor(), few);
  EXPECT_EQ(capped.reason, "cap reached: evaluations");
  EXPECT_LE(capped.evaluations, 30000);
  EXPECT_GT(capped.evaluations, 15000);
  EXPECT_GT(capped.error, 1e-9 * std::fabs(capped.integral));
  EXPECT_EQ(result_by(executor(), soon).reason, "cap reached: time (another run may end elsewhere)");
}

TEST(Regions, ReportRoundoff) {
  const Result none =
      result_by(executor(), {{"FORMULA", "sin(x)*y"}, {"LIMITS", "x=[-1,1] y=[0,1]"}, {"relative", "1e-6"}});
  EXPECT_EQ(none.reason.substr(0, 8), "roundoff");  // 0 by symmetry has no relative accuracy
  const Result wanted =
      result_by(executor(), {{"FORMULA", "sin(x)*y"}, {"LIMITS", "x=[-1,1] y=[0,1]"}, {"absolute", "1e-6"}});
  EXPECT_EQ(wanted.reason, "converged");
  EXPECT_NEAR(wanted.integral, 0, 1e-6);
}

// Where two halves cancel, regions are halved as if they did not: the error is no longer that of a few.
TEST(Regions, RefineWhatCancels) {
  for (const char* formula : {"x^3+y^5", "sin(5*x)+y^7", "sinh(3*x-2*y)/100"}) {
    const Arguments::Words words{{"FORMULA", formula}, {"LIMITS", "x=[-1,1] y=[-1,1]"}, {"relative", "1e-4"}};
    for (const Request& request : {processors, executor()}) {
      const Result result = result_by(request, words);
      EXPECT_EQ(result.reason.substr(0, 8), "roundoff") << formula;
      EXPECT_LT(result.error, 1e-3) << formula;
      EXPECT_LE(std::fabs(result.integral), result.error) << formula;
    }
  }
}

TEST(Regions, DoNotConvergeBeyondTheLargestNumber) {
  const Arguments::Words words{{"FORMULA", "1e300*(x^2+y)"}, {"LIMITS", "x=[0,1e9] y=[0,1]"}};
  for (const Request& request : {processors, executor()})
    EXPECT_NE(result_by(request, words).reason, "converged");
}

TEST(Regions, AreChosenAndCheckedByAuto) {
  const Result answer = result_by(executor(), {{"FORMULA", "exp(-(a*b+c*d))"},
                                               {"LIMITS", "a=[0,1] b=[0,1] c=[0,1] d=[0,1]"},
                                               {"relative", "1e-4"},
                                               {"rule", "auto"}});
  EXPECT_EQ(answer.reason, "converged");
  EXPECT_NE(answer.why.find("on the executor"), std::string::npos) << answer.why;
  const double one = 0.796599599297053134;  // of exp(-a·b)
  EXPECT_NEAR(answer.integral, one * one, answer.error);
}

// Devices compute formulas over regions in f64 alone, and do not pass that off for f32.
TEST(Regions, RefuseFloatsOnDevices) {
  const Arguments::Words words{{"FORMULA", "x*y+1/3"}, {"LIMITS", "x=[0,1] y=[0,1]"}, {"relative", "1e-5"}};
  EXPECT_THROW(result_by(executor(), words, Element::f32), Error);
}

TEST(Regions, RefuseUnsupportedIntegrals) {
  const Arguments::Words one{{"FORMULA", "x"}, {"LIMITS", "0 1"}};
  EXPECT_THROW(result_by(executor(), one), Error);
  const Arguments::Words other{{"FORMULA", "x*y"}, {"LIMITS", "0 1 y=[0,1]"}, {"rule", "quasi_random"}};
  EXPECT_THROW(result_by(executor(), other), Error);
}

std::string text_of(const char* formula, std::vector<std::string> variables, const CompiledRegions& how) {
  return region_source_of(formula::compile<double>(formula::parse(formula), variables), how);
}

TEST(RegionSource, SpecializesTheParametersOfTheRun) {
  const std::string text = text_of("x*y^2+z", {"x", "y", "z"}, {.plain = true, .residents = 3, .unroll = 2});
  for (const char* part :
       {"constexpr int axes = 3;", "constexpr int residents = 3;", "constexpr int region_unrolled = 2;",
        "constexpr bool plain = true;", "integrand(at[0].x, at[1].x, at[2].x)", "class RegionRule",
        "region_concluded(int d", "estimate_regions(const __grid_constant__ RegionFrame frame)"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_NE(text_of("x*y", {"x", "y"}, {}).find("constexpr bool plain = false;"), std::string::npos);
}

TEST(RegionSource, UsesCudaFunctionsWhereAllowed) {
  const char* const formula = "cos(x)*exp2(y)+exp(x)^y";
  const std::string own = text_of(formula, {"x", "y"}, {}),
                    native = text_of(formula, {"x", "y"}, {.native = true});
  for (const char* name : {"cos", "exp2", "exp", "pow"}) {
    EXPECT_NE(own.find(std::string("= formula::") + name + "("), std::string::npos) << name;
    EXPECT_EQ(native.find(std::string("= formula::") + name + "("), std::string::npos) << name;
    EXPECT_NE(native.find(std::string("= ::") + name + "("), std::string::npos) << name;
  }
}

TEST(RegionSource, Compiles) {
  if (const Reason absent = cuda::no_nvrtc()) GTEST_SKIP() << *absent;
  for (const bool plain : {false, true}) {
    const std::string text =
        text_of("exp(x*y)*cos(z)^0.3", {"x", "y", "z"}, {.plain = plain, .native = plain});
    EXPECT_GT(cuda::compile(text, "sm_90").code.size(), 1000u);
  }
}

}  // namespace
}  // namespace tessera::integration
