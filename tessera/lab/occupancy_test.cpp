// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/occupancy.hpp"
#include <gtest/gtest.h>

namespace tessera::lab {
namespace {

TEST(Occupancy, TheScarcestLimits) {
  const Multiprocessor hopper = multiprocessor_of(90);
  EXPECT_EQ(occupancy(hopper, 256, 0).warps, 64);
  EXPECT_EQ(occupancy(hopper, 256, 0).limit, "warps");
  EXPECT_EQ(occupancy(hopper, 32, 0).limit, "blocks");
  EXPECT_EQ(occupancy(hopper, 32, 0).fraction, 0.5);
  EXPECT_EQ(occupancy(hopper, 768, 0).blocks, 2) << "24 warps leave 16 unused";
  const Occupancy shared = occupancy(hopper, 256, 48 * 1024);
  EXPECT_EQ(shared.blocks, 4) << "each takes a kilobyte more";
  EXPECT_EQ(shared.limit, "shared memory");
  const Occupancy registers = occupancy(hopper, 256, 0, 128);
  EXPECT_EQ(registers.blocks, 2);
  EXPECT_EQ(registers.limit, "registers");
  EXPECT_EQ(occupancy(hopper, 1024, 0, 255).blocks, 0) << "cannot run at all";
}

}  // namespace
}  // namespace tessera::lab
