// SPDX-License-Identifier: Apache-2.0
// VEGAS on the executor, by the kernels that GPUs run: every bit is that of the processors.
#include <gtest/gtest.h>
#include <cmath>
#include "tessera/core/operation/operation.hpp"
#include "tessera/run/run.hpp"

namespace tessera::integration {
namespace {

struct Report {
  double value = 0;
  Values values;
  std::string variant;
};

Report report(const std::string& device, const std::string& formula, const std::string& limits,
              const std::string& most, const std::string& seed = "1") {
  const Operation& operation = *find_operation("integrate");
  Arguments arguments(operation.signature, Element::f64, {},
                      {{"FORMULA", formula},
                       {"LIMITS", limits},
                       {"rule", "vegas"},
                       {"relative", "1e-3"},
                       {"random-seed", seed},
                       {"most-evaluations", most}});
  const Outcome outcome = run(operation, arguments, {.device = device, .cached = false});
  return {load_as_double(Element::f64, outcome.outputs.at("integral").as<void>()), outcome.values,
          outcome.plan.variant->name};
}

void expect_equal(const Report& a, const Report& b, const std::string& what) {
  EXPECT_TRUE(a.value == b.value || (std::isnan(a.value) && std::isnan(b.value))) << what;
  for (const char* name : {"error", "truncation", "condition", "evaluations", "reason", "by", "why"})
    EXPECT_EQ(a.values.at(name), b.values.at(name)) << what << ": " << name;
}

TEST(VegasOnTheExecutor, HasTheBitsOfTheProcessors) {
  struct Tried {
    const char *formula, *limits, *most;
  };
  for (const Tried& tried :
       {Tried{"exp(x)", "0 1", "20000"}, Tried{"exp(-(x^2+y^2)/2)", "x=[-inf,inf] y=[-inf,3]", "40000"},
        // Lengths that round.
        Tried{"exp(-x*y*z*w)", "x=[0,0.7] y=[0,inf] z=[0.1,1.7] w=[-inf,1]", "40000"},
        Tried{"x<0.3 ? y*z : exp(w-v)", "x=[0,1] y=[2,0] z=[0,1] w=[0,1] v=[0,inf]", "60000"},
        // Nearly all the points are in the cube that is cut: many tasks.
        Tried{"x<0.12345", "0 1", "100000"},
        Tried{"exp(-((x-0.3)^2+(y-0.6)^2)/1e-6)", "x=[0,1] y=[0,1]", "80000"},
        Tried{"0/0*x*y", "x=[0,1] y=[0,1]", "20000"}, Tried{"0*x*y", "x=[0,1] y=[0,1]", "20000"},
        Tried{"1e-300*x*y*z", "x=[0,1] y=[0,1] z=[0,1]", "20000"},
        Tried{"a*b+c*d+e2*f+g*h+i*j+k",
              "a=[0,1] b=[0,1] c=[0,1] d=[0,1] e2=[0,1] f=[0,1] g=[0,1] h=[0,1] "
              "i=[0,1] j=[0,1] k=[0,1]",
              "30000"}}) {
    const Report processors = report("cpu:threads=2", tried.formula, tried.limits, tried.most);
    const Report executor = report("simt", tried.formula, tried.limits, tried.most);
    EXPECT_EQ(executor.variant, "vegas");
    EXPECT_EQ(processors.variant, "rules");
    expect_equal(processors, executor, tried.formula);
  }
}

TEST(VegasOnTheExecutor, GivesTheSameBitsForAnyNumberOfThreads) {
  const char *formula = "abs(x-y)*z", *limits = "x=[0,1] y=[0,1] z=[0,1]";
  const Report alone = report("simt:threads=1", formula, limits, "30000", "7");
  expect_equal(alone, report("simt:threads=3", formula, limits, "30000", "7"), formula);
  expect_equal(alone, report("cpu:threads=5", formula, limits, "30000", "7"), formula);
  EXPECT_NE(alone.value, report("simt", formula, limits, "30000", "8").value);
}

// A launch that takes longer than the time allowed is stopped, and its points tell nothing.
TEST(VegasOnTheExecutor, KeepsToItsTime) {
  std::string slow = "0";
  for (int i = 1; i <= 70; ++i) slow += "+tgamma(x*y+" + std::to_string(i) + ")";
  const Operation& operation = *find_operation("integrate");
  Arguments arguments(operation.signature, Element::f64, {},
                      {{"FORMULA", slow},
                       {"LIMITS", "x=[0,1] y=[0,1]"},
                       {"rule", "vegas"},
                       {"relative", "1e-9"},
                       {"most-seconds", "0.01"}});
  const Outcome outcome = run(operation, arguments, {.device = "simt:threads=1", .cached = false});
  EXPECT_TRUE(std::isnan(load_as_double(Element::f64, outcome.outputs.at("integral").as<void>())));
  EXPECT_EQ(std::get<std::string>(outcome.values.at("reason")),
            "cap reached: time (another run may end elsewhere)");
  EXPECT_EQ(std::get<std::int64_t>(outcome.values.at("evaluations")), 0);
}

}  // namespace
}  // namespace tessera::integration
