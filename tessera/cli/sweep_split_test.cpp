// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/sweep_split.hpp"
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(SplitText, TheFastestIsReportedWhateverItIs) {
  EXPECT_EQ(fastest_split({{"1:3", 2}, {"1:1", 1.1}, {"auto", 1}, {"dynamic", 1.25}}),
            "the fastest: auto; the best shares, 1:1, took 1.100 × that; dynamic 1.250 ×\n");
  EXPECT_EQ(fastest_split({{"1:3", 2}, {"1:1", 1}, {"auto", 1.02}, {"dynamic", 3}}),
            "the fastest: 1:1; auto took 1.020 × that; dynamic 3.000 ×\n");
}

TEST(SplitText, WithoutSharesOrWithoutOthers) {
  EXPECT_EQ(fastest_split({{"auto", 2}, {"dynamic", 1}}), "the fastest: dynamic; auto took 2.000 × that\n");
  EXPECT_EQ(fastest_split({{"1:1", 2}, {"2:1", 1}}), "the fastest: 2:1\n");
  EXPECT_EQ(fastest_split({{"auto", 2}}), "") << "nothing to choose from";
}

}  // namespace
}  // namespace tessera::cli
