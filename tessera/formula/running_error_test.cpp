// SPDX-License-Identifier: Apache-2.0
// The bound holds against long double, and is not far above what happens.
#include "tessera/formula/running_error.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include "tessera/formula/evaluate.hpp"

namespace tessera::formula {
namespace {

struct KnownError {
  const char* text;
  std::function<long double(long double)> exact;
  double from, to;
};

TEST(RunningError, IsATightBound) {
  using L = long double;
  const std::vector<KnownError> all = {
      {"1-cos(x)", [](L x) { return 2 * sinl(x / 2) * sinl(x / 2); }, 1e-12, 1},
      {"(x-sin(x))/x^3", [](L x) { return (x - sinl(x)) / (x * x * x); }, 1e-2, 1},
      {"sqrt(1+x)-1", [](L x) { return x / (1 + sqrtl(1 + x)); }, 1e-15, 10},
      {"exp(x)-1", [](L x) { return expm1l(x); }, 1e-15, 10},
      {"log(1+x)/x", [](L x) { return log1pl(x) / x; }, 1e-15, 10},
      {"sin(x+1e10)", [](L x) { return sinl(x) * cosl(1e10L) + cosl(x) * sinl(1e10L); }, 0.1, 10},
      {"tan(x)*atan(x)-sinh(x)", [](L x) { return tanl(x) * atanl(x) - sinhl(x); }, 0.1, 1.4},
      {"pow(1+x,30)-cosh(x)", [](L x) { return powl(1 + x, 30) - coshl(x); }, 1e-9, 2},
      {"hypot(1,x)-1", [](L x) { return x * x / (1 + sqrtl(1 + x * x)); }, 1e-6, 2},
      {"fma(x,x,-x)*acos(x)", [](L x) { return (x * x - x) * acosl(x); }, 0.01, 0.99}};
  for (const KnownError& known : all) {
    const auto program = compile<double>(parse(known.text), {"x"});
    double ratio = 0;
    int held = 0, tried = 0;
    for (int i = 0; i < 400; ++i) {
      const double x = known.from * std::pow(known.to / known.from, (i + 0.37) / 400);
      const Running running = running_error(program, {&x, 1});
      EXPECT_EQ(running.value, evaluate<double>(program, {&x, 1})) << known.text;
      const auto off = static_cast<double>(fabsl(static_cast<L>(running.value) - known.exact(x)));
      ++tried;
      held += off <= running.error * 1.01 + 1e-18 * std::fabs(running.value);
      ratio = std::fmax(ratio, off / running.error);
    }
    EXPECT_EQ(held, tried) << known.text;
    EXPECT_GT(ratio, 0.02) << known.text << ": the bound tells nothing";
  }
}

TEST(RunningError, IsZeroForExactOperations) {
  const double x = 0.75;
  for (const char* text :
       {"x", "x-0.5", "2*x+1", "abs(-x)", "floor(x)", "x<0.8 ? x : 0", "sqrt(x*12)", "fmod(x,0.5)"})
    EXPECT_EQ(running_error(compile<double>(parse(text), {"x"}), {&x, 1}).error, 0) << text;
}

TEST(RunningError, UndecidedConditionsAddTheDifference) {
  const double x = 1;
  const auto program = compile<double>(parse("(x/3)*3-1 < 0 ? 5 : 2"), {"x"});
  EXPECT_GE(running_error(program, {&x, 1}).error, 3);
}

TEST(RunningError, OverflowOnTheWayToZeroAddsNothing) {
  const double x = 1000;
  for (const char* text : {"1/cosh(x)", "x^3/(exp(x)-1)", "1/(1+exp(x))", "exp(-exp(x))", "x/sinh(x)^2"}) {
    const Running running = running_error(compile<double>(parse(text), {"x"}), {&x, 1});
    EXPECT_EQ(running.value, 0) << text;
    EXPECT_EQ(running.error, 0) << text;
  }
}

}  // namespace
}  // namespace tessera::formula
