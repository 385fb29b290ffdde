// SPDX-License-Identifier: Apache-2.0
// The text that NVRTC is given for VEGAS compiles; what it computes is compared on a GPU with the processors.
#include "vegas_source.hpp"
#include <gtest/gtest.h>
#include "tessera/cuda/nvrtc.hpp"

namespace tessera::integration {
namespace {

TEST(VegasSource, Compiles) {
  if (const Reason absent = cuda::no_nvrtc()) GTEST_SKIP() << *absent;
  for (const char* text : {"exp(x*y)", "x<0.5 ? sin(x+y) : 0"}) {
    const auto program = formula::compile<double>(formula::parse(text), {"x", "y"});
    EXPECT_GT(cuda::compile(vegas_source_of(program), "sm_90").code.size(), 1000u) << text;
  }
}

TEST(VegasSource, KnowsTheNumberOfAxes) {
  const std::string text =
      vegas_source_of(formula::compile<double>(formula::parse("x+y+z"), {"x", "y", "z"}));
  EXPECT_NE(text.find("constexpr int axes = 3,"), std::string::npos);
  EXPECT_NE(text.find("integrand(x[0], x[1], x[2])"), std::string::npos);
}

}  // namespace
}  // namespace tessera::integration
