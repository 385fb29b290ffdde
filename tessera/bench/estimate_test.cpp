// SPDX-License-Identifier: Apache-2.0
// Estimates of variants whose time is a formula: each run says how long it took and takes no time.
#include <gtest/gtest.h>
#include "tessera/bench/measure.hpp"

namespace tessera::bench {
namespace {

// Squares a vector's elements, one flop each in the books; a run of n takes time(n, how many came before).
class Timed {
 public:
  explicit Timed(std::function<double(double n, int before)> time) : time_(std::move(time)) {
    operation_.name = "squares";
    operation_.signature.parameters = {parameter::input("x", {"n"}, ""), parameter::output("y", {"n"}, "")};
    operation_.elements = {Element::f32};
    operation_.output = "y";
    operation_.flops = flops;
    Choice choice;
    choice.run[Element::f32] = [this](const Arguments& arguments, const Tuning&, Run& run) {
      largest_ = std::max(largest_, arguments.dim("n"));
      run.own_seconds = time_(flops(arguments), runs_++);
    };
    variant_.name = "timed";
    variant_.choices = {choice};
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  double estimate(std::int64_t n, double limit) {
    const Plan plan{&variant_, &variant_.choices[0], {}, host_device(Where::cpu)};
    return estimate_seconds(operation_, Element::f32, {.dims = {{"n", n}}}, plan, static_cast<double>(n),
                            limit)
        .value_or(-1);
  }
  std::int64_t largest() const { return largest_; }

 private:
  static double flops(const Arguments& arguments) { return static_cast<double>(arguments.dim("n")); }

  std::function<double(double, int)> time_;
  Operation operation_;
  Variant variant_;
  int runs_ = 0;
  std::int64_t largest_ = 0;
};

constexpr std::int64_t full = 1 << 20;

TEST(Estimate, GrowsWithTheWork) {
  Timed timed([](double n, int) { return 1e-6 * n; });
  EXPECT_NEAR(timed.estimate(full, 0.1), 1e-6 * full, 1e-6);
  EXPECT_LE(timed.largest(), 1 << 15) << "it took longer than it had to";
}

TEST(Estimate, WhatACallCostsIsNotMultiplied) {
  Timed timed([](double n, int) { return 2e-3 + 1e-9 * n; });
  for (const double limit : {0.02, 0.1, 10.0}) EXPECT_LT(timed.estimate(full, limit), limit);
}

TEST(Estimate, AFirstCallThatCompilesIsNotMultiplied) {
  Timed timed([](double n, int before) { return (before == 0 ? 0.3 : 0.0) + 1e-8 * n; });
  EXPECT_LT(timed.estimate(full, 0.1), 0.02);
}

TEST(Estimate, NorIsOneThatTakesLongerThanTheLimitToCompile) {
  Timed timed([](double n, int before) { return (before == 0 ? 2.5 : 0.0) + 1e-8 * n; });
  EXPECT_LT(timed.estimate(full, 2), 0.02);
}

TEST(Estimate, AHopelessOneIsNotRunTwice) {
  int runs = 0;
  Timed timed([&runs](double, int) { return ++runs, 20.0; });
  EXPECT_GT(timed.estimate(full, 10), 1e5);
  EXPECT_EQ(runs, 1);
}

// A sum over a counted range has no array that says how large it is.
TEST(Estimate, WholeNumbersAreSizesToo) {
  Operation operation;
  operation.signature.parameters = {parameter::optional_integer("n", 1, std::int64_t{1} << 40, ""),
                                    parameter::output("sum", {}, "")};
  operation.elements = {Element::f64};
  operation.flops = [](const Arguments& arguments) { return static_cast<double>(arguments.integer("n")); };
  std::int64_t largest = 0;
  Choice choice;
  choice.run[Element::f64] = [&largest](const Arguments& arguments, const Tuning&, tessera::Run& run) {
    largest = std::max(largest, arguments.integer("n"));
    run.own_seconds = 1e-6 * static_cast<double>(arguments.integer("n"));
  };
  Variant variant;
  variant.name = "counted";
  variant.choices = {choice};
  const Plan plan{&variant, &variant.choices[0], {}, host_device(Where::cpu)};
  const auto estimate =
      estimate_seconds(operation, Element::f64, {.dims = {}, .words = {{"n", "1024*1024"}}}, plan, full, 0.1);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(*estimate, 1e-6 * full, 1e-6);
  EXPECT_LE(largest, 1 << 15);
}

}  // namespace
}  // namespace tessera::bench
