// SPDX-License-Identifier: Apache-2.0
// The call as nvcc compiles it: the same bits on a GPU as on the processors.
#include <gtest/gtest.h>
#include <cmath>
#include "tessera/integrate_device.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {
namespace {

using integration::Sum;

// Nothing in it is rounded otherwise than products, sums and quotients: every device has the same bits.
struct Witch {
  double k = 1;

  SIMT double operator()(double x) const { return k / (1 + x * x); }
};

struct SingleWitch {
  SIMT float operator()(float x) const { return 4 / (1 + x * x); }
};

inline constexpr Sum every_sum[] = {Sum::pairwise, Sum::plain, Sum::kahan, Sum::double_float, Sum::exact};

TEST(CallOnGpu, GivesTheSameSum) {
  Backend* const backend = find_backend(Where::cuda);
  ASSERT_NE(backend, nullptr);
  if (backend->devices().empty()) GTEST_SKIP() << backend->unusable();
  const Device gpu = find_device("cuda"), cpu = find_device("cpu");
  for (const Sum sum : every_sum)
    for (const std::int64_t strips : {1, 5000, 1 << 20}) {
      const integration::Options options{.strips = strips, .sum = sum};
      const quadrature::Answer on_gpu = integrate(gpu, Witch{2}, 0, 1, options);
      const quadrature::Answer on_cpu = integrate(cpu, Witch{2}, 0, 1, options);
      EXPECT_LE(std::fabs(on_gpu.value - std::acos(-1.0) / 2), on_gpu.error());
      if (!integration::has_fixed_order(sum)) continue;
      EXPECT_EQ(on_gpu.value, on_cpu.value) << static_cast<int>(sum) << " " << strips;
      const SingleWitch single;
      EXPECT_EQ(integrate<float>(gpu, single, 0, 1, options).value,
                integrate<float>(cpu, single, 0, 1, options).value);
    }
}

// A callable of the host alone serves the processors in a file for nvcc too.
TEST(CallOnGpu, RulesOfCallablesOfTheHost) {
  double calls = 0;
  const auto f = [&](double x) {
    ++calls;
    return std::exp(x);
  };
  EXPECT_NEAR(integrate(f, 0, 1).value, std::exp(1.0) - 1, 1e-14);
  EXPECT_NEAR(integrate(f, 0, 1, {.strips = 100, .threads = 1}).value, std::exp(1.0) - 1, 1e-4);
  EXPECT_GT(calls, 100);
}

}  // namespace
}  // namespace tessera
