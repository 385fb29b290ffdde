// SPDX-License-Identifier: Apache-2.0
// Products of blocks that lie on several made-up devices, whose every piece of work comes late by chance: a
// copy that is not waited for, or one from the wrong place, shows as a wrong result.
#include "tessera/run/resident.hpp"
#include <gtest/gtest.h>
#include "tests/made_up_lanes.hpp"
#include "tests/resident_blocks.hpp"

namespace tessera {
namespace {

using made_up::MadeUpLanes;
using made_up::Traits;
using resident::all_splits;
using resident::Blocks;
using resident::equal;
using resident::sizes;
using resident::uneven;

struct Made {
  std::vector<MadeUpLanes*> lanes = {};

  Resident resident(Blocks& scattered, Traits traits = {}) {
    return Resident(scattered.call(), [this, traits](const Device& device) {
      auto out = std::make_unique<MadeUpLanes>(device, static_cast<unsigned>(lanes.size()), traits);
      lanes.push_back(out.get());
      return out;
    });
  }
};

// Twice: a run leaves nothing behind that the next would stumble over.
void expect_right(Blocks& scattered) {
  Made made;
  Resident resident = made.resident(scattered);
  for (int i = 0; i < 2; ++i) {
    scattered.fill();
    const Resident::Run run = resident.run();
    scattered.expect_right();
    EXPECT_LE(run.timeline.end(), run.seconds);
  }
}

TEST(Resident, EverySplitOfOneTwoAndThreeDevices) {
  for (const std::size_t devices : {1u, 2u, 3u})
    for (const auto& along : all_splits())
      for (const Element element : {Element::f32, Element::bf16}) {
        Blocks scattered(element, sizes(90, 70, 110), along, devices,
                         [&](std::int64_t extent) { return equal(extent, devices); });
        expect_right(scattered);
      }
}

TEST(Resident, UnevenBlocksSeveralOfADeviceOrNone) {
  unsigned seed = 0;
  for (const auto& along : all_splits())
    for (const Element element : {Element::f64, Element::i32, Element::f16})
      for (const bool by_columns : {false, true}) {
        Blocks scattered(element, sizes(61, 75, 83), along, 4, uneven(4, ++seed), by_columns);
        expect_right(scattered);
      }
}

TEST(Resident, TransposedOperandsFactorsAndWhatIsAddedTo) {
  const Arguments::Words words{
      {"op-a", "transpose"}, {"op-b", "transpose"}, {"alpha", "-2"}, {"beta", "0.5"}};
  unsigned seed = 40;
  for (const auto& along : all_splits())
    for (const Element element : {Element::f32, Element::bf16}) {
      Blocks scattered(element, {{{"m", 50}, {"n", 66}, {"k", 71}}, words, Distribution::normal, {"C0"}},
                       along, 3, uneven(3, ++seed));
      expect_right(scattered);
    }
}

// k = 0 leaves α·0 + β·C0; β = 0 reads nothing of what was there.
TEST(Resident, SmallAndEmptyProducts) {
  for (const auto& along : all_splits())
    for (const auto& problem :
         {sizes(1, 1, 1), sizes(0, 4, 3), sizes(5, 0, 3), sizes(5, 4, 0), sizes(2, 17, 3)}) {
      Blocks scattered(Element::f32, problem, along, 2, [](std::int64_t extent) { return equal(extent, 2); });
      expect_right(scattered);
      Case added = problem;
      added.words["beta"] = "3";
      added.optional_inputs.push_back("C0");
      Blocks more(Element::f32, added, along, 3, uneven(3, 5));
      expect_right(more);
    }
}

// What everybody computes is what is asked for, and each byte comes once for each block of the result.
TEST(Resident, EachRemoteByteIsCopiedOnce) {
  const std::map<std::string, std::size_t> rows{{"A", 0}, {"B", 0}, {"C", 0}},
      cols{{"A", 1}, {"B", 1}, {"C", 1}};
  for (const Element element : {Element::f32, Element::bf16})
    for (const auto& along : {rows, cols}) {
      Blocks scattered(element, sizes(128, 96, 160), along, 4,
                       [](std::int64_t extent) { return equal(extent, 4); });
      Made made;
      Resident resident = made.resident(scattered);
      scattered.fill();
      (void)resident.run();
      const std::int64_t passing = along == rows ? 160 * 96 : 128 * 160,
                         size = static_cast<std::int64_t>(size_of(element));
      EXPECT_EQ(resident.plan().bytes_from_peers(), 3 * passing * size);
      std::size_t copied = 0;
      double flops = 0;
      for (std::size_t d = 0; d < 4; ++d)
        copied += made.lanes[d]->bytes_peer(), flops += resident.plan().flops(resident.division(), d);
      // Sums that are not cut are gathered from all, the device itself among them.
      EXPECT_EQ(copied, static_cast<std::size_t>((element == Element::bf16 ? 4 : 3) * passing * size));
      EXPECT_EQ(flops, 2.0 * 128 * 96 * 160);
    }
}

TEST(Resident, BeginsWithItsOwnBlockAndGoesAroundTheRing) {
  Blocks scattered(Element::f32, sizes(128, 96, 160), {{"A", 0}, {"B", 0}, {"C", 0}}, 4,
                   [](std::int64_t extent) { return equal(extent, 4); });
  const ResidentCall call = scattered.call();
  dist::Distributions spread;
  for (const auto& [name, array] : call.arrays) spread[name] = array.spread;
  const Division division = (*find_division("matmul"))(call.whole);
  const dist::ResidentPlan plan = dist::make_resident_plan(division, call.whole, "C", spread, 4);
  for (std::size_t d = 0; d < 4; ++d) {
    const auto& steps = plan.parts[d].steps;
    ASSERT_EQ(steps.size(), 4u);
    for (std::size_t s = 0; s < 4; ++s) {
      EXPECT_EQ(steps[s].tile.depth.first, static_cast<std::int64_t>(40 * ((d + s) % 4)));
      EXPECT_EQ(steps[s].arrivals.empty(), s == 0);
      EXPECT_EQ(steps[s].begins, s == 0);
    }
    // At most one is computed with while the next arrives, and the one after it.
    EXPECT_LE(plan.parts[d].bytes, 3 * 40 * 96 * 4);
    EXPECT_GT(plan.parts[d].bytes, 0);
  }
}

TEST(Resident, TakesNoMoreRoomThanAFewPanels) {
  Blocks scattered(Element::bf16, sizes(64, 4096, 512), {{"A", 0}, {"B", 0}, {"C", 0}}, 2,
                   [](std::int64_t extent) { return equal(extent, 2); });
  Made made;
  Resident resident = made.resident(scattered);
  for (const auto& part : resident.plan().parts) EXPECT_LE(part.bytes, 4 * (8 << 10) + 4 * 512 * 16);
  scattered.fill();
  (void)resident.run();
  scattered.expect_right();
}

TEST(Resident, RefusesWhatDoesNotFit) {
  const auto fails = [](const auto& change, const std::string& text) {
    Blocks scattered(Element::f32, sizes(64, 48, 32), {{"A", 0}, {"B", 0}, {"C", 0}}, 2,
                     [](std::int64_t extent) { return equal(extent, 2); });
    change(scattered);
    Made made;
    try {
      (void)made.resident(scattered);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  fails([](Blocks& s) { s.arrays().at("A").spread.blocks[0].range.last = 20; }, "a gap before 32");
  fails([](Blocks& s) { s.arrays().at("A").spread.blocks[0].range.last = 40; }, "overlap at 32");
  fails([](Blocks& s) { s.arrays().at("B").spread.blocks[1].range.last = 30; }, "end at 30 of 32");
  fails([](Blocks& s) { s.arrays().at("B").spread.blocks[1].device = 2; }, "not there");
  fails([](Blocks& s) { s.arrays().at("B").blocks.pop_back(); }, "memory for 1");
  fails([](Blocks& s) { s.arrays().at("B").blocks[0].extents[1] = 47; }, "16 × 47, not 16 × 48");
  fails([](Blocks& s) { s.arrays().at("C").blocks[1].data = s.arrays().at("B").blocks[0].data; },
        "a block of C overlaps one of");
  fails([](Blocks& s) { s.arrays().erase("B"); }, "B has no blocks");
}

TEST(Resident, ADeviceThatFailsEndsTheCall) {
  for (const std::size_t step : {1u, 2u, 3u}) {
    Blocks scattered(Element::f32, sizes(64, 48, 32), {{"A", 0}, {"B", 0}, {"C", 0}}, 3,
                     [](std::int64_t extent) { return equal(extent, 3); });
    Made made;
    Resident resident = made.resident(scattered, {.fails_at_step = step});
    scattered.fill();
    EXPECT_THROW((void)resident.run(), Error);
  }
}

}  // namespace
}  // namespace tessera
