// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <array>
#include "tessera/bench/code.hpp"

namespace tessera::bench {
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
  EXPECT_EQ(occupancy(hopper, 64, 0, 48).warps, 40)
      << "10 warps in each of the four parts, though all their registers together would do for 42";
  EXPECT_EQ(occupancy(hopper, 1024, 0, 255).blocks, 0) << "cannot run at all";
}

TEST(Occupancy, EachCapabilityHasItsOwnLimits) {
  const auto limits = [](int capability) {
    const Multiprocessor m = multiprocessor_of(capability);
    return std::array<std::int64_t, 3>{m.warps, m.blocks, m.shared_bytes / 1024};
  };
  using Limits = std::array<std::int64_t, 3>;
  EXPECT_EQ(limits(75), (Limits{32, 16, 64}));
  EXPECT_EQ(limits(86), (Limits{48, 16, 100}));
  EXPECT_EQ(limits(87), (Limits{48, 16, 164})) << "Orin: the shared memory of 8.0, the warps of 8.6";
  EXPECT_EQ(limits(89), (Limits{48, 24, 100}));
  EXPECT_EQ(limits(103), (Limits{64, 32, 228})) << "as the nearest below";
  EXPECT_EQ(limits(110), (Limits{48, 24, 228})) << "Thor";
  EXPECT_EQ(limits(121), (Limits{48, 24, 100}));
}

}  // namespace
}  // namespace tessera::bench
