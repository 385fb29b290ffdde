// SPDX-License-Identifier: Apache-2.0
// Products of blocks that lie with several ranks, threads here, each with a made-up device whose work comes
// late.
#include "tessera/run/resident_ranks.hpp"
#include <gtest/gtest.h>
#include <mutex>
#include "tessera/dist/communicator_threads.hpp"
#include "tests/made_up_lanes.hpp"
#include "tests/resident_blocks.hpp"

namespace tessera {
namespace {

using resident::all_splits;
using resident::Blocks;
using resident::equal;
using resident::sizes;
using resident::uneven;

// What a rank knows: of others' blocks only how large they are.
ResidentCall as_seen_by(ResidentCall call, std::size_t rank) {
  for (auto& [name, array] : call.arrays)
    for (std::size_t b = 0; b < array.blocks.size(); ++b)
      if (array.spread.blocks[b].device != rank) array.blocks[b].data = nullptr;
  call.devices.clear();
  return call;
}

// Twice, for nothing may be left of the first; returns the plan's bytes and what was packed, unpacked and
// gathered.
void expect_right(Blocks& blocks, int ranks) {
  blocks.fill();
  const ResidentCall call = blocks.call();
  dist::on_threads(ranks, [&](dist::Communicator& all) {
    const auto rank = static_cast<std::size_t>(all.rank());
    ResidentRanks product(
        as_seen_by(call, rank), all, find_device("cpu:threads=1"), [&](const Device& device) {
          return std::make_unique<made_up::MadeUpLanes>(device, static_cast<unsigned>(rank));
        });
    for (int i = 0; i < 2; ++i) {
      if (rank == 0) blocks.fill();
      EXPECT_EQ(all.largest(0), 0);
      const Resident::Run run = product.run();
      EXPECT_GT(run.seconds, 0);
      EXPECT_EQ(all.largest(0), 0);
      if (rank == 0) blocks.expect_right();
      EXPECT_EQ(all.largest(0), 0);
    }
    EXPECT_EQ(product.connected_by(), "threads");
  });
}

TEST(ResidentRanks, EverySplitOfOneTwoAndThreeRanks) {
  for (const std::size_t ranks : {1u, 2u, 3u})
    for (const auto& along : all_splits())
      for (const Element element : {Element::f32, Element::bf16}) {
        Blocks blocks(element, sizes(50, 40, 70), along, ranks,
                      [&](std::int64_t extent) { return equal(extent, ranks); });
        expect_right(blocks, static_cast<int>(ranks));
      }
}

TEST(ResidentRanks, UnevenBlocksSeveralOfARankOrNone) {
  unsigned seed = 70;
  for (const auto& along : all_splits())
    for (const bool by_columns : {false, true}) {
      const Element element = by_columns ? Element::f16 : Element::f64;
      Blocks blocks(element,
                    {{{"m", 41}, {"n", 55}, {"k", 63}}, {{"beta", "2"}}, Distribution::normal, {"C0"}}, along,
                    4, uneven(4, ++seed), by_columns);
      expect_right(blocks, 4);
    }
}

TEST(ResidentRanks, WhatIsWrongOnOneRankAllAreTold) {
  Blocks blocks(Element::f32, sizes(50, 40, 70), {{"A", 0}, {"B", 0}, {"C", 0}}, 2,
                [&](std::int64_t extent) { return equal(extent, 2); });
  const ResidentCall call = blocks.call();
  dist::on_threads(2, [&](dist::Communicator& all) {
    ResidentCall mine = as_seen_by(call, static_cast<std::size_t>(all.rank()));
    if (all.rank() == 1) mine.arrays.at("C").blocks[1].data = mine.arrays.at("A").blocks[1].data;
    EXPECT_THROW(
        ResidentRanks(std::move(mine), all, find_device("cpu:threads=1"),
                      [](const Device& device) { return std::make_unique<made_up::MadeUpLanes>(device, 1); }),
        dist::SharedError);
  });
}

}  // namespace
}  // namespace tessera
