// SPDX-License-Identifier: Apache-2.0
// The processors' summit, by each instruction set that this machine has, against the rung below: bytes whose
// sums take 16 bits.
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <cstring>
#include "tessera/core/random.hpp"
#include "tessera/run/conformance.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/run.hpp"

namespace tessera::filter {
namespace {

std::vector<char> computed(const std::string& variant, const Case& chosen) {
  const Operation& operation = *find_operation("filter");
  Inputs inputs(operation, Element::u8, chosen, 1);
  inputs.poison();
  run(operation, inputs.arguments(), {.device = "cpu", .variant = variant, .cached = false});
  EXPECT_TRUE(inputs.padding_intact());
  const ArrayView& out = inputs.arguments().array("filtered");
  const auto* from = static_cast<const char*>(out.data);
  return {from, from + out.bytes()};
}

class EveryTarget : public testing::Test {
 protected:
  void TearDown() override { only(0); }

  static void only(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  static void check(std::int64_t height, std::int64_t width, std::int64_t channels, Arguments::Words words) {
    const Case chosen{.dims = {{"images", 1}, {"height", height}, {"width", width}, {"channels", channels}},
                      .words = std::move(words)};
    const std::vector<char> wanted = computed("naive", chosen);
    only(0);
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
      only(left & -left);
      const std::vector<char> got = computed("simd", chosen);
      ASSERT_EQ(got.size(), wanted.size());
      ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
          << hwy::TargetName(left & -left) << " " << to_string(chosen);
      only(0);
    }
  }
};

const char* const kernels[] = {
    "laplacian4", "laplacian8", "laplacian_ksize3", "sharpen", "0 3 0 -1; 2 -70 1 0; 0 0 5 1",
    "1 1; 1 2",   "-1 0; 0 1"};

TEST_F(EveryTarget, EveryWidth) {
  Random random(1);
  for (std::int64_t width = 1; width < 300; width += 1 + static_cast<std::int64_t>(random.below(9)))
    for (const char* kernel : kernels)
      if (random.below(2) == 0) check(4, width, 1, {{"kernel", kernel}, {"border", "wrap"}});
      else check(4, width, 1, {{"kernel", kernel}, {"border", "constant"}, {"border-value", "9"}});
}

TEST_F(EveryTarget, MagnitudesAndOffsets) {
  for (const char* kernel : kernels)
    for (const char* offset : {"0", "100", "-100"})
      for (const char* magnitude : {"no", "yes"})
        for (const std::int64_t channels : {1, 3, 4})
          check(6, 70, channels, {{"kernel", kernel}, {"abs", magnitude}, {"offset", offset}});
}

TEST_F(EveryTarget, SeveralStrips) {
  for (const std::int64_t channels : {1, 3, 20000})
    check(3, channels < 9 ? 20000 : 3, channels, {{"kernel", "laplacian4"}, {"roi_x", "1"}});
}

}  // namespace
}  // namespace tessera::filter
