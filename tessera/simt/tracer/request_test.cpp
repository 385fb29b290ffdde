// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/tracer/recorder.hpp"
#include <gtest/gtest.h>

namespace tessera::simt {
namespace {

template <class F>
LaneAddresses lanes(F f) {
  LaneAddresses out{};
  for (std::uint64_t lane = 0; lane < 32; ++lane) out[lane] = f(lane);
  return out;
}

TEST(Request, SectorsAreThoseThatAnyByteLiesIn) {
  const auto row = lanes([](std::uint64_t l) { return 4096 + 4 * l; });
  EXPECT_EQ(global_cost(row, ~0u, 4).sectors, 4u);
  EXPECT_EQ(global_cost(row, 0x1, 4).sectors, 1u);
  EXPECT_EQ(global_cost(row, 0x00010001, 4).sectors, 2u);
  EXPECT_EQ(global_cost(lanes([](std::uint64_t l) { return 4094 + 4 * l; }), ~0u, 4).sectors, 5u)
      << "across a boundary";
  EXPECT_EQ(global_cost(lanes([](std::uint64_t l) { return 4096 + 4 * (31 - l); }), ~0u, 4).sectors, 4u)
      << "backwards";
  EXPECT_EQ(global_cost(lanes([](std::uint64_t) { return 4096; }), ~0u, 4).distinct_bytes, 4u);
  EXPECT_EQ(global_cost(lanes([](std::uint64_t l) { return 4096 + 2 * l; }), ~0u, 4).distinct_bytes, 66u)
      << "overlapping";
}

TEST(Request, LinesAreThoseThatTheSectorsLieIn) {
  const auto lines_of = [](const LaneAddresses& address) { return global_cost(address, ~0u, 4).lines; };
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4096 + 4 * l; })), 1u);
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4160 + 4 * l; })), 2u) << "four sectors of two lines";
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4096 + 1024 * (31 - l); })), 32u);
  EXPECT_EQ(lines_of(lanes([](std::uint64_t l) { return 4096 + 32 * l; })), 8u);
}

TEST(Request, WavefrontsAreTheFullestBanksWords) {
  EXPECT_EQ(shared_cost(lanes([](std::uint64_t l) { return 128 * (l % 4); }), ~0u, 4).wavefronts, 4u);
  EXPECT_EQ(shared_cost(lanes([](std::uint64_t l) { return 128 * (l % 4); }), 0x5, 4).wavefronts, 2u);
  EXPECT_EQ(shared_cost(lanes([](std::uint64_t l) { return l; }), ~0u, 1).wavefronts, 1u)
      << "bytes of a word";
  const auto wide = shared_cost(lanes([](std::uint64_t l) { return 16 * (l / 8); }), 0xff, 16);
  EXPECT_EQ(wide.wavefronts, 1u);
  EXPECT_EQ(wide.ideal_wavefronts, 1u) << "three quarters have no lane";
}

}  // namespace
}  // namespace tessera::simt
