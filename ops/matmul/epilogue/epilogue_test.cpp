// SPDX-License-Identifier: Apache-2.0
// Scales as large and as small as f32 has them: what they make of a sum is right wherever f32 holds it.
#include "ops/matmul/epilogue/epilogue.hpp"
#include <gtest/gtest.h>
#include <bit>
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::matmul {
namespace {

TEST(ScaledSum, HasTheBitsOfF32WhereItsFactorsAreOrdinary) {
  Random random(3);
  const auto draw = [&] {
    return static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(40)) - 20));
  };
  for (int i = 0; i < 100000; ++i) {
    const float alpha = draw(), scale_a = draw(), scale_b = draw(), sum = draw();
    const float plain = alpha * scale_a * scale_b * sum;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(scaled_sum(alpha, scale_a, scale_b, sum)),
              std::bit_cast<std::uint32_t>(plain));
  }
}

TEST(ScaledSum, IsRightWhereItsFactorsLeaveF32) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FLOAT_EQ(scaled_sum(1, 1e20f, 1e20f, 1e-30f), 1e10f);
  EXPECT_FLOAT_EQ(scaled_sum(1e30f, 1e30f, 1e-30f, 1e-5f), 1e25f);
  EXPECT_FLOAT_EQ(scaled_sum(1, 1e-30f, 1e-30f, 1e38f), 1e-22f);
  // The first product keeps few digits.
  EXPECT_FLOAT_EQ(scaled_sum(1.23456e-20f, 1.23456e-22f, 1e30f, 1), 1.23456f * 1.23456f * 1e-12f);
  EXPECT_EQ(scaled_sum(1, 1e30f, 1e30f, 0), 0);
  EXPECT_EQ(scaled_sum(1, 0, 1e30f, 5), 0);
  EXPECT_EQ(scaled_sum(1, 1e30f, 1e30f, -1e-10f), -infinity);
  EXPECT_EQ(scaled_sum(1, infinity, 1, 2), infinity);
  EXPECT_TRUE(std::isnan(scaled_sum(1, infinity, 1, 0)));
  EXPECT_TRUE(std::isnan(scaled_sum(1, 1, std::numeric_limits<float>::quiet_NaN(), 1)));
}

// Each of `input`'s numbers, so many times as large.
void enlarge(const ArrayView& input, double times) {
  for (std::int64_t at = 0; at < input.count(); ++at) {
    void* const here =
        static_cast<char*>(input.data) + at * static_cast<std::int64_t>(size_of(input.element));
    store_from_double(input.element, here, times * load_as_double(input.element, here));
  }
}

// The check knows the same bound, and holds results to it.
TEST(ScaledSum, IsWhatACheckAsksFor) {
  struct Extreme {
    double factors, scale_a, scale_b;
  };
  for (const Extreme& e :
       {Extreme{1e-15, 1e20, 1e20}, {1e15, 1e-30, 1e-28}, {1, 1e36, 1e-36}, {1e-18, 1e38, 1}}) {
    Case tried{.dims = {{"m", 9}, {"n", 17}, {"k", 70}}, .words = {{"output-element", "f32"}}};
    tried.optional_inputs = {"scale-a", "scale-b"};
    Inputs inputs(*find_operation("matmul"), Element::bf16, tried, 7);
    Arguments& arguments = inputs.arguments();
    enlarge(arguments.array("A"), e.factors), enlarge(arguments.array("B"), e.factors);
    enlarge(arguments.array("scale-a"), e.scale_a), enlarge(arguments.array("scale-b"), e.scale_b);
    const Outcome outcome =
        run(*find_operation("matmul"), arguments, {.device = "cpu", .variant = "naive"}, true);
    ASSERT_TRUE(outcome.verdict.has_value());
    EXPECT_TRUE(outcome.verdict->passed) << e.scale_a << "\n" << describe(*outcome.verdict);
  }
}

}  // namespace
}  // namespace tessera::matmul
