// SPDX-License-Identifier: Apache-2.0
// The text that NVRTC is given; what it computes is compared on a GPU, bit for bit, with the other rungs.
#include "compiled_source.hpp"
#include <gtest/gtest.h>
#include <cctype>

namespace tessera::integration {
namespace {

template <class T>
std::string text_of(const char* formula, Compiled how) {
  return source_of(formula::compile<T>(formula::parse(formula), {"x"}), how);
}

// The part that is not the library of functions, which owns literals of both types.
std::string own_part(const std::string& text) { return text.substr(text.find("\nusing R = ")); }

TEST(CompiledSource, SettlesWhatTheRunHasFixed) {
  const std::string text = own_part(
      text_of<double>("sqrt(1-x^2)", {.sum = Sum::kahan, .scale_terms = true, .threads = 96, .leaves = 2}));
  for (const char* part : {"using R = double;", "constexpr int way = 2;", "constexpr bool scale_terms = 1;",
                           "constexpr int threads = 96;", "constexpr int leaves = 2;",
                           "extern \"C\" __global__ void __launch_bounds__(threads) add_strips"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(CompiledSource, TakesTheRootThatItIsTold) {
  EXPECT_NE(text_of<float>("sqrt(x)", {}).find("= formula::root("), std::string::npos);
  EXPECT_EQ(text_of<float>("sqrt(x)", {}).find("= fast_root("), std::string::npos);
  EXPECT_NE(text_of<float>("sqrt(x)", {.root = "fast_root"}).find("= fast_root("), std::string::npos);
}

TEST(CompiledSource, FloatsStayFloats) {
  const std::string text = own_part(text_of<float>("1-x*x/3", {}));
  EXPECT_NE(text.find("using R = float;"), std::string::npos);
  const std::string integrand =
      text.substr(text.find("float integrand("), text.find("struct Pair") - text.find("float integrand("));
  EXPECT_EQ(integrand.find("double"), std::string::npos);
  EXPECT_NE(integrand.find("f)"), std::string::npos) << integrand;
  EXPECT_EQ(text.substr(text.find("struct Pair")).find("double "), std::string::npos);
}

}  // namespace
}  // namespace tessera::integration
