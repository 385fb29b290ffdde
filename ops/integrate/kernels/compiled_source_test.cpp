// SPDX-License-Identifier: Apache-2.0
// The text that NVRTC is given; what it computes is compared on a GPU, bit for bit, with the other rungs.
#include "ops/integrate/kernels/compiled_source.hpp"
#include <gtest/gtest.h>
#include "ops/integrate/sum/trapezoid.hpp"
#include <cctype>

namespace tessera::integration {
namespace {

template <class T>
std::string text_of(const char* formula, Compiled how) {
  return source_of(formula::compile<T>(formula::parse(formula), {"x"}), how);
}

// The part that is not the library of functions, which owns literals of both types.
std::string own_part(const std::string& text) { return text.substr(text.find("\nusing R = ")); }

TEST(CompiledSource, SpecializesTheParametersOfTheRun) {
  const std::string text = own_part(
      text_of<double>("sqrt(1-x^2)", {.sum = Sum::kahan, .scale_terms = true, .threads = 64, .together = 2}));
  for (const char* part :
       {"using R = double;", "constexpr int way = 2;", "constexpr bool scale_terms = 1;",
        "constexpr int threads = 64;", "constexpr int together = 2;",
        "extern \"C\" __global__ void __launch_bounds__(threads, 1024 / threads) add_strips"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(CompiledSource, UsesTheGivenRoot) {
  const std::string exact = text_of<float>("sqrt(x)", {}),
                    near = text_of<float>("sqrt(x)", {.fast_roots = true});
  for (const char* call : {"= formula::root(x0)", "= sqrt_rn_fast(x0, max_key)"}) {
    EXPECT_NE(exact.find(call), std::string::npos) << call;
    EXPECT_EQ(near.find(call), std::string::npos) << call;
  }
  for (const char* call : {"= near_root(x0)", "= sqrt_approx_fast(x0, max_key)"}) {
    EXPECT_EQ(exact.find(call), std::string::npos) << call;
    EXPECT_NE(near.find(call), std::string::npos) << call;
  }
}

TEST(CompiledSource, KeepsFloats) {
  const std::string text = own_part(text_of<float>("1-x*x/3", {}));
  EXPECT_NE(text.find("using R = float;"), std::string::npos);
  const std::string integrand = text.substr(text.find("float quick_integrand("),
                                            text.find("struct Pair") - text.find("float quick_integrand("));
  EXPECT_EQ(integrand.find("double"), std::string::npos);
  EXPECT_NE(integrand.find("f)"), std::string::npos) << integrand;
  EXPECT_EQ(text.substr(text.find("struct Pair")).find("double "), std::string::npos);
}

TEST(ExactSteps, AddingGivesTheBitsOfMultiplying) {
  EXPECT_TRUE(steps_are_exact(0.0, 0x1p-24, 1 << 24));
  EXPECT_TRUE(steps_are_exact(0.0f, 0x1p-24f, 1 << 24));
  EXPECT_FALSE(steps_are_exact(0.25f, 0x1p-24f, 1 << 24));
  EXPECT_TRUE(steps_are_exact(-1.5, 0.375, 1 << 20));
  EXPECT_TRUE(steps_are_exact(3.0, 0.0, 7));
  EXPECT_FALSE(steps_are_exact(0.0, 0.1, 1 << 20));  // 54 digits for the 2^20th
  EXPECT_FALSE(steps_are_exact(0.1, 0x1p-24, 1 << 24));
  EXPECT_FALSE(steps_are_exact(1e300, 1.0, 8));
  EXPECT_FALSE(steps_are_exact(std::numeric_limits<double>::infinity(), 1.0, 8));
  EXPECT_FALSE(steps_are_exact(std::numeric_limits<double>::quiet_NaN(), 1.0, 8));
  EXPECT_FALSE(steps_are_exact(0.0, 0x1p-1074, 8));
  // By doing it, for steps of few and of many digits.
  for (const double step : {0.5, 0x1.8p-20, 0x1.123456789p-3, 0x1.123456789abcdp-3}) {
    double x = 0.25;
    bool same = true;
    for (int i = 0; i < 1000; ++i, x += step) same = same && x == 0.25 + i * step;
    EXPECT_TRUE(same || !steps_are_exact(0.25, step, 1000)) << step;
  }
  EXPECT_TRUE(steps_are_exact(0.25, 0x1.123456789p-3, 1000));
}

}  // namespace
}  // namespace tessera::integration
