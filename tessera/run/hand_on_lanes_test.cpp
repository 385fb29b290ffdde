// SPDX-License-Identifier: Apache-2.0
// Tiles from a queue on made-up devices that copy and compute at a time, each piece of work late by chance.
#include "tessera/run/hand_on_lanes.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include "tessera/dist/tiles.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/spread.hpp"
#include "tests/made_up_lanes.hpp"

namespace tessera {
namespace {

using made_up::MadeUpLanes;
using made_up::OnLanes;
using made_up::Traits;

const Operation& product() { return *find_operation("matmul"); }

Case sizes(std::int64_t m, std::int64_t n, std::int64_t k) { return {{{"m", m}, {"n", n}, {"k", k}}}; }

std::vector<char> bytes_of_result(const Arguments& arguments) {
  const Array packed = packed_copy(arguments.array("C"));
  const char* const first = packed.as<char>();
  return {first, first + packed.view().bytes()};
}

std::vector<char> alone(Inputs& inputs) {
  inputs.poison();
  (void)run(product(), inputs.arguments(), {.device = "cpu", .cached = false});
  return bytes_of_result(inputs.arguments());
}

// One hand, and tiles of a product.
struct OneHand {
  Inputs inputs;
  Division division;
  MadeUpLanes* lanes = nullptr;
  std::unique_ptr<HandOnLanes> hand;

  OneHand(const Case& problem, std::int64_t memory, std::int64_t wanted, Traits traits = {})
      : inputs(product(), Element::f32, problem, 3, {.padding = 2}),
        division((*find_division("matmul"))(inputs.arguments())) {
    const Device device = find_device("cpu:threads=1");
    auto made = std::make_unique<MadeUpLanes>(device, 1, traits);
    lanes = made.get();
    const Request request{.cached = false};
    hand = std::make_unique<HandOnLanes>(product(), inputs.arguments(), division,
                                         choose_on(device, product(), inputs.arguments(), request), request,
                                         std::move(made), memory, tiles(wanted).front());
    inputs.poison();
  }

  // Two under way at a time, as the queue's threads do it.
  std::vector<dist::Span> compute(const std::vector<Tile>& tiles) {
    std::vector<dist::Span> out;
    for (std::size_t i = 0; i <= tiles.size(); ++i) {
      if (i < tiles.size()) hand->begin(tiles[i]);
      if (i == 0) continue;
      const auto more = hand->finish();
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  std::vector<Tile> tiles(std::int64_t wanted) const {
    return dist::tiles_of(division, inputs.arguments(), {0, division.rows},
                          {.wanted = wanted, .least_flops = 1});
  }
};

TEST(HandOnLanes, EachPieceOfTheInputsIsCopiedOnceWhereAllFit) {
  OneHand one(sizes(200, 170, 130), std::int64_t{1} << 30, 20);
  const auto tiles = one.tiles(20);
  ASSERT_GT(tiles.size(), 10u);
  const auto spans = one.compute(tiles);
  EXPECT_TRUE(verify(product(), one.inputs.arguments()).passed);
  EXPECT_TRUE(one.inputs.padding_intact());
  EXPECT_EQ(one.lanes->bytes_in(), 4u * (200 * 130 + 130 * 170));
  EXPECT_EQ(one.lanes->bytes_out(), 4u * 200 * 170);
  std::size_t computed = 0;
  for (const dist::Span& span : spans) {
    EXPECT_LE(span.first, span.last);
    EXPECT_GE(span.last, 0);
    computed += span.deed == dist::Deed::compute;
  }
  EXPECT_EQ(computed, tiles.size());
}

TEST(HandOnLanes, ATileLeavesWhileTheNextIsComputed) {
  std::promise<void> open;
  const std::shared_future<void> gate = open.get_future().share();
  std::atomic<bool> waited_in_vain{false};
  // The first step loads code, before any tile: the third is the second tile's.
  const auto hold = [&](std::size_t step) {
    if (step == 3 && gate.wait_for(std::chrono::seconds(10)) != std::future_status::ready)
      waited_in_vain = true;
  };
  OneHand one(sizes(200, 170, 130), std::int64_t{1} << 30, 20);
  one.lanes->before_steps(hold);
  const auto tiles = one.tiles(20);
  one.hand->begin(tiles[0]);
  one.hand->begin(tiles[1]);
  (void)one.hand->finish();
  open.set_value();
  (void)one.hand->finish();
  EXPECT_FALSE(waited_in_vain);
}

TEST(HandOnLanes, WhereMemoryIsShortWhatWasUsedLongestAgoMakesRoom) {
  constexpr std::int64_t memory = 340'000;  // what three tiles need, and little more
  OneHand one(sizes(300, 280, 260), memory, 36);
  const auto tiles = one.tiles(36);
  (void)one.compute(tiles);
  EXPECT_TRUE(verify(product(), one.inputs.arguments()).passed);
  EXPECT_LE(one.lanes->most_held(), static_cast<std::size_t>(memory));
  EXPECT_GT(one.lanes->bytes_in(), 4u * (300 * 260 + 260 * 280));
  // Tile after tile with its inputs of its own would be far more.
  std::size_t each = 0;
  for (const Tile& tile : tiles)
    for (const Slice& slice : one.division.reads(tile))
      each += bytes_of(slice, one.inputs.arguments().array(slice.array));
  EXPECT_LT(one.lanes->bytes_in(), each * 3 / 4);
}

TEST(HandOnLanes, MemoryThatCopiesDoNotReachPassesThroughBuffers) {
  OneHand one(sizes(200, 170, 130), std::int64_t{1} << 30, 20, {.reaches_host = false});
  (void)one.compute(one.tiles(20));
  EXPECT_TRUE(verify(product(), one.inputs.arguments()).passed);
  EXPECT_GT(one.lanes->stagings(), 0u);
}

TEST(HandOnLanes, AQueueGivesTheBitsOfOneDeviceAlone) {
  for (const Element element : {Element::f32, Element::bf16}) {
    Inputs inputs(product(), element,
                  {{{"m", 333}, {"n", 250}, {"k", 120}},
                   {{"op-a", "transpose"}, {"beta", "2"}},
                   Distribution::normal,
                   {"C0"}},
                  3, {.padding = 1});
    const auto wanted = alone(inputs);
    for (const char* split : {"dynamic", "2:1"}) {
      const OnLanes lanes;
      Spread spread{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                    .request = {.cached = false},
                    .split = parse_split(split)};
      spread.stopped = [] { return false; };  // asked between tiles: the queue's way
      inputs.poison();
      const Together together = run_together(product(), inputs.arguments(), spread, true);
      EXPECT_EQ(lanes.opened(), 2u);
      EXPECT_FALSE(together.overlap);
      EXPECT_TRUE(together.same_bits);
      EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted) << split;
      EXPECT_TRUE(inputs.padding_intact());
      for (const Share& share : together.shares) EXPECT_LE(share.busy_seconds, together.seconds);
    }
  }
}

// What a GPU and the processors share by default.
TEST(HandOnLanes, BesideADeviceWithoutLanes) {
  Inputs inputs(product(), Element::f64, sizes(256, 200, 64), 3);
  const OnLanes lanes;
  const Spread spread{.devices = {find_device("cpu:threads=1"), find_device("simt:threads=1")},
                      .request = {.cached = false}};
  inputs.poison();
  const Together together = run_together(product(), inputs.arguments(), spread, true);
  EXPECT_EQ(lanes.opened(), 1u);
  EXPECT_TRUE(together.verdict->passed);
  bool in = false, out = false;
  for (const dist::Span& span : together.timeline.spans) {
    if (span.device != 0) continue;
    in = in || span.deed == dist::Deed::copy_in;
    out = out || span.deed == dist::Deed::copy_out;
  }
  EXPECT_TRUE(in && out);
}

TEST(HandOnLanes, ADeviceThatFailsAmongItsTilesLosesNothing) {
  Inputs inputs(product(), Element::f32, sizes(400, 300, 100), 3);
  const auto wanted = alone(inputs);
  for (const std::size_t step : {1u, 2u, 5u}) {
    const OnLanes lanes(std::vector<Traits>{{.fails_at_step = step}, {}});
    const Spread spread{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                        .request = {.cached = false},
                        .split = parse_split("dynamic")};
    inputs.poison();
    const Together together = run_together(product(), inputs.arguments(), spread, true);
    EXPECT_EQ(together.shares[0].lost, "this device is broken");
    EXPECT_LT(together.shares[0].tiles, step);
    EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted);
  }
}

// Nothing that a lost device gave to others, or took from them, is trusted. At each of its steps, those of
// the trial included, until it fails at none.
TEST(HandOnLanes, ADeviceThatFailsAmidAPlanMakesTheOthersStartOver) {
  Inputs inputs(product(), Element::f32, sizes(300, 260, 1300), 3);
  const auto wanted = alone(inputs);
  std::size_t step = 1;
  for (bool failed = true; failed; ++step) {
    const OnLanes lanes(std::vector<Traits>{{}, {.fails_at_step = step}, {}});
    const Spread spread{.devices = std::vector<Device>(3, find_device("cpu:threads=1")),
                        .request = {.cached = false}};
    inputs.poison();
    const Together together = run_together(product(), inputs.arguments(), spread, true);
    EXPECT_TRUE(together.verdict->passed);
    ASSERT_EQ(together.shares.size(), 3u);
    failed = !together.overlap;
    if (!failed) break;
    EXPECT_EQ(together.shares[1].lost, "this device is broken") << step;
    EXPECT_EQ(together.shares[1].tiles, 0u);
    EXPECT_GT(together.shares[0].tiles + together.shares[2].tiles, 0u);
    EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted);
  }
  EXPECT_GT(step, 6u);
}

// As a GPU may do that is poisoned: those that are left go on in processes of their own.
TEST(HandOnLanes, ADeviceThatTakesTheOthersOfItsProcessWithItLosesNothing) {
  Inputs inputs(product(), Element::f32, sizes(300, 260, 100), 3);
  const auto wanted = alone(inputs);
  const OnLanes lanes(std::vector<Traits>{{.fails_at_step = 3}});
  const Spread spread{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                      .request = {.cached = false}};
  inputs.poison();
  const Together together = run_together(product(), inputs.arguments(), spread, true);
  EXPECT_EQ(together.shares[0].lost, "this device is broken");
  EXPECT_TRUE(together.shares[1].lost.empty());
  EXPECT_GT(together.shares[1].settled, 0u) << "processes of their own are protected";
  EXPECT_TRUE(together.verdict->passed);
  EXPECT_TRUE(bytes_of_result(inputs.arguments()) == wanted);
}

TEST(HandOnLanes, WithoutAnyDeviceLeftItSaysWhy) {
  Inputs inputs(product(), Element::f32, sizes(900, 700, 500), 3);
  const OnLanes lanes(std::vector<Traits>{{.fails_at_step = 3}});
  const Spread spread{.devices = std::vector<Device>(2, find_device("cpu:threads=1")),
                      .request = {.cached = false},
                      .split = parse_split("dynamic")};
  try {
    (void)run_together(product(), inputs.arguments(), spread);
    FAIL();
  } catch (const Error& error) {
    const std::string said = error.what();
    for (const char* device : {"(device 0): this device is broken", "(device 1): this device is broken"})
      EXPECT_NE(said.find(device), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace tessera
