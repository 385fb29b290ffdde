// SPDX-License-Identifier: Apache-2.0
// The text that NVRTC is given. Compiling it needs no GPU; what it computes is compared on one, bit for bit,
// with the other rungs.
#include "compiled_source.hpp"
#include <gtest/gtest.h>
#include "tessera/core/operation.hpp"
#include "tessera/cuda/nvrtc.hpp"

namespace tessera::integrate_batch {
namespace {

std::string source(const char* formula, const char* limits, const char* parameters, Compiled how = {}) {
  const Arguments arguments(
      find_operation("integrate_batch")->signature, Element::f64, {},
      {{"FORMULA", formula}, {"LIMITS", limits}, {"parameters", parameters}, {"n", "10"}});
  return source_of(setting_of(arguments), how);
}

TEST(BatchSource, HoldsTheRuleOnceAndTheFormula) {
  const std::string text =
      source("cos(k*x)+w", "0 w", "k=1:2,w=3:4", {.cells = 24, .threads = 96, .warps = 2});
  for (const char* part :
       {"struct Adaption {", "double integrand(double x0, double x1, double x2)",
        "double end_of_range(double x0, double x1, double x2)", "constexpr int own_cells = 24;",
        "constexpr int own_threads = 96;", "constexpr int warps = 2;"}) {
    const std::size_t found = text.find(part);
    ASSERT_NE(found, std::string::npos) << part;
    EXPECT_EQ(text.find(part, found + 1), std::string::npos) << part;
  }
}

TEST(BatchSource, WithoutThreadsOfTheirOwnOnlyWarpsAreLeft) {
  const std::string text = source("x^k", "0 1", "k=1:2", {.cells = 0});
  EXPECT_EQ(text.find("each_alone"), std::string::npos);
  EXPECT_EQ(text.find("struct FewCells"), std::string::npos);
  EXPECT_NE(text.find("together(const Work work"), std::string::npos);
}

TEST(BatchSource, Compiles) {
  if (const Reason absent = cuda::no_nvrtc()) GTEST_SKIP() << *absent;
  EXPECT_FALSE(cuda::compile(source("exp(-x)", "0 k", "k=1:2"), "sm_90").code.empty());
  EXPECT_FALSE(cuda::compile(source("abs(x-k)", "-inf inf", "k=1:2", {.cells = 0}), "sm_90").code.empty());
}

}  // namespace
}  // namespace tessera::integrate_batch
