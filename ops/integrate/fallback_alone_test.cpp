// SPDX-License-Identifier: Apache-2.0
// Which integrals an automatic choice takes from the processors to a GPU, here a made-up one: those that are
// more work than its start.
#include <gtest/gtest.h>
#include <cmath>
#include <string>
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/run.hpp"
#include "tests/made_up_gpu.hpp"

namespace tessera::integration {
namespace {

struct Gpu {
  int runs = 0;
  double work_budget = 0, elapsed_seconds = 0;
};
Gpu gpu;

void integrate_on_device(const Arguments& arguments, const Tuning&, Run& run) {
  gpu = {gpu.runs + 1, run.work_budget, run.elapsed_seconds};
  *static_cast<double*>(arguments.array("integral").data) = 42;
  run.values["reason"] = std::string("made up");
  run.values["why"] = std::string("it is made up");
}

class Fallback : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    (void)made_up::made_up_gpu();
    Variant variant;
    variant.idea = "always 42";
    variant.where = Where::cuda;
    Choice choice;
    choice.prepare[Element::f64] = without_plan(integrate_on_device);
    variant.choices.push_back(std::move(choice));
    register_variant(std::move(variant), SourceLocation{"ops/integrate/gpu_99_made_up.cu", 1});
  }
  void SetUp() override { gpu = {}; }

  struct Ran {
    Where where;
    double value;
    std::string why, reason;
  };
  static Ran ran(Arguments::Words words, const Request& request = {.cached = false},
                 Element element = Element::f64) {
    Arguments arguments(find_operation("integrate")->signature, element, {}, std::move(words));
    const Outcome outcome = run(*find_operation("integrate"), arguments, request);
    const auto text = [&](const char* name) {
      const auto found = outcome.values.find(name);
      return found == outcome.values.end() ? std::string() : std::get<std::string>(found->second);
    };
    return {outcome.plan.device.where, load_as_double(element, outcome.outputs.at("integral").as<void>()),
            text("why"), text("reason")};
  }

  // More than any processors' share: kinks that no cut of an axis meets.
  static Arguments::Words long_one() {
    return {{"FORMULA", "abs(x-0.31)+abs(y-0.52)+abs(z-0.77)+abs(u-0.13)+sqrt(abs(x-y*z))"},
            {"LIMITS", "x=[0,1] y=[0,1] z=[0,1] u=[0,1]"},
            {"rule", "genz_malik"},
            {"relative", "1e-12"},
            {"most-evaluations", "1e10"},
            {"most-seconds", "60"}};
  }
  static Arguments::Words short_one() {
    return {{"FORMULA", "exp(-(x^2+y^2)/2)"}, {"LIMITS", "x=[-1,1] y=[-1,1]"}};
  }
};

TEST_F(Fallback, MovesToTheGpuIfTheWorkExceedsItsStartupCost) {
  const Ran answer = ran(long_one());
  EXPECT_EQ(answer.where, Where::cuda);
  EXPECT_EQ(answer.value, 42);
  EXPECT_EQ(answer.why, "it is made up");
  EXPECT_EQ(gpu.runs, 1);
  EXPECT_GT(gpu.elapsed_seconds, 0) << "so that it knows";
  EXPECT_TRUE(std::isinf(gpu.work_budget)) << "nobody waits for it";
}

TEST_F(Fallback, KeepsResultsThatTheCpuHasFinished) {
  const Ran answer = ran(short_one());
  EXPECT_EQ(answer.where, Where::cpu);
  EXPECT_NEAR(answer.value, 2.9283724, 1e-7);
  EXPECT_EQ(answer.reason, "converged");
  EXPECT_EQ(gpu.runs, 0);
  const Ran named = ran(short_one(), {.device = "cpu", .cached = false});
  EXPECT_EQ(answer.value, named.value) << "the same bits as without a GPU";
}

TEST_F(Fallback, DoesNotMoveFromANamedDeviceOrVariant) {
  Arguments::Words words = long_one();
  words["most-seconds"] = "2";
  for (const Request& request : {Request{.device = "cpu", .cached = false},
                                 Request{.device = "auto", .variant = "rules", .cached = false}}) {
    const Ran answer = ran(words, request);
    EXPECT_EQ(answer.where, Where::cpu);
    EXPECT_NE(answer.reason, "converged");
  }
  EXPECT_EQ(gpu.runs, 0);
}

TEST_F(Fallback, DoesNotMoveToADeviceThatRefuses) {
  Arguments::Words words = long_one();
  words["most-seconds"] = "2";
  EXPECT_EQ(ran(words, {.cached = false}, Element::f32).where, Where::cpu) << "it has no f32";
  EXPECT_EQ(gpu.runs, 0);
}

// A share of the processors' own, which the caller would miss.
TEST_F(Fallback, DoesNotMoveShortCalls) {
  Arguments::Words words = long_one();
  words["most-seconds"] = "1.9";
  EXPECT_EQ(ran(words).where, Where::cpu);
  EXPECT_EQ(gpu.runs, 0);
}

}  // namespace
}  // namespace tessera::integration
