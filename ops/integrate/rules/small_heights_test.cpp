// SPDX-License-Identifier: Apache-2.0
// Integrals of heights that are subnormal, or nearly: what is told holds, and nothing is claimed that no
// digits show.
#include "ops/integrate/rules/small_heights.hpp"
#include <gtest/gtest.h>
#include "ops/integrate/rules/by_name.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"

namespace tessera::quadrature {
namespace {

constexpr double least = std::numeric_limits<double>::denorm_min();

struct Small {
  const char* text;
  long double exact;
};

Answer of_one(const char* text, const std::string& rule) {
  const Range range{0, 1};
  return by_name(rule, integrand_of(formula::parse(text), "x", range), range, {}, {}, {});
}

Answer of_two(const char* text, const std::string& rule) {
  const Limits limits{.evaluations = 300'000};
  const std::vector<std::string> names{"x", "y"};
  return by_name(rule, many_values_of(formula::parse(text), names), Box{{{0, 1}, {0, 1}}}, {.relative = 1e-6},
                 limits, {}, 1);
}

bool holds(const Answer& answer, long double exact) {
  return fabsl(static_cast<long double>(answer.value) - exact) <= static_cast<long double>(answer.error());
}

TEST(SmallHeights, OfOneVariableAreNotClaimed) {
  const Small all[] = {{"1e-323*x", 0.5e-323L},
                       {"exp(-744-x)", expl(-744.0L) * (1 - expl(-1.0L))},
                       {"1e-200*x*1e-122", 0.5e-322L},
                       {"1e-320*x^3", 0.25e-320L}};
  for (const Small& small : all)
    for (const char* rule : {"auto", "tanh_sinh", "gauss_kronrod", "richardson", "simpson"}) {
      const Answer answer = of_one(small.text, rule);
      EXPECT_FALSE(answer.converged()) << small.text << " by " << rule;
      EXPECT_GE(answer.error(), least) << small.text << " by " << rule;
      EXPECT_TRUE(holds(answer, small.exact)) << small.text << " by " << rule << ": " << answer.value;
    }
}

TEST(SmallHeights, OfTwoVariablesAreNotClaimed) {
  const Small all[] = {{"1e-320*x*y", 0.25e-320L}, {"1e-200*x*y*1e-122", 0.25e-322L}};
  for (const Small& small : all)
    for (const char* rule : {"tanh_sinh", "gauss_kronrod", "genz_malik", "quasi_random", "vegas"}) {
      const Answer answer = of_two(small.text, rule);
      EXPECT_FALSE(answer.converged()) << small.text << " by " << rule;
      EXPECT_TRUE(holds(answer, small.exact)) << small.text << " by " << rule << ": " << answer.value;
    }
}

// Normal heights keep their digits where their weighted values would not.
TEST(SmallHeights, ThatAreNormalLoseNothing) {
  const Answer one = of_one("1e-305*x", "auto");
  EXPECT_TRUE(one.converged()) << words(one);
  EXPECT_NEAR(one.value / 0.5e-305, 1, 1e-10);
  const Answer two = of_two("1e-303*x*y", "genz_malik");
  EXPECT_TRUE(two.converged()) << words(two);
  EXPECT_NEAR(two.value / 0.25e-303, 1, 1e-6);
}

// What the formula loses amid its parts, it has lost, however large the heights are.
TEST(SmallHeights, OfPartsAreCharged) {
  const Answer answer = of_one("1e-160*x*1e-160*1e160*1e160", "auto");
  EXPECT_FALSE(answer.converged());
  EXPECT_TRUE(holds(answer, 0.5L)) << answer.value << " " << answer.error();
}

TEST(SmallHeights, NothingButZerosStaysDoubtful) {
  const Answer answer = of_one("x-x", "gauss_kronrod");
  EXPECT_EQ(answer.reason, Reason::doubtful);
  EXPECT_EQ(answer.value, 0);
}

}  // namespace
}  // namespace tessera::quadrature
