// SPDX-License-Identifier: Apache-2.0
// Tests the queue on a virtual clock: the cost of not knowing the devices beforehand. The bounds come from a
// simulation of the same schedules, with speeds that drift by 5 % and were measured 10 % wrong. Corner cases:
// few tiles, speeds far apart, wrong guesses; each against the best static split of the same tiles.
#include "tessera/run/multi_device/tile_queue.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include "tests/virtual_clock.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera {
namespace {

using made_up::Behaviour;
using made_up::run_virtually;

struct Scenario {
  std::vector<double> speeds;
  std::size_t tiles = 256;
  double drift = 0.05;
  double throttled_at = INFINITY,
         throttled_to = 1;    // the first device, as shares of the ideal time and speed
  double dies_at = INFINITY;  // likewise
};

struct Result {
  double makespan = 0;         // as a multiple of the time that all speeds together would take
  std::vector<double> shares;  // of the tiles
};

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Speeds drift slowly about their means, each device on its own.
Behaviour behaviour_of(const Scenario& scenario, std::uint64_t seed) {
  const double ideal = static_cast<double>(scenario.tiles) / sum(scenario.speeds);
  auto drifts = std::make_shared<std::vector<double>>(scenario.speeds.size(), 0);
  auto random = std::make_shared<Random>(seed, 7);
  Behaviour out;
  out.done = [scenario, ideal, drifts, random](std::size_t d, std::size_t, double now) {
    double& drift = (*drifts)[d];
    drift = 0.9 * drift + std::sqrt(1 - 0.81) * scenario.drift * random->normal();
    const double speed = scenario.speeds[d] * (1 + drift), throttle = scenario.throttled_at * ideal;
    if (d != 0 || now + 1 / speed <= throttle) return now + 1 / speed;
    const double before = std::max(0.0, throttle - now) * speed;
    return std::max(now, throttle) + (1 - before) / (speed * scenario.throttled_to);
  };
  if (std::isfinite(scenario.dies_at)) out.dies = {scenario.dies_at * ideal};
  return out;
}

Result run_once(const Scenario& scenario, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> guesses;
  for (const double speed : scenario.speeds)
    guesses.push_back(speed * std::max(0.5, 1 + 0.1 * random.normal()));
  TileQueue queue(std::vector<double>(scenario.tiles, 1), guesses);
  const Timeline timeline = run_virtually(queue, scenario.speeds.size(), behaviour_of(scenario, seed));
  Result out{timeline.end() * sum(scenario.speeds) / static_cast<double>(scenario.tiles),
             std::vector<double>(scenario.speeds.size(), 0)};
  EXPECT_TRUE(queue.done());
  for (std::size_t tile = 0; tile < scenario.tiles; ++tile)
    out.shares[*queue.owner(tile)] += 1 / static_cast<double>(scenario.tiles);
  return out;
}

double mean_makespan(const Scenario& scenario) {
  constexpr int seeds = 30;
  double all = 0;
  for (int seed = 0; seed < seeds; ++seed)
    all += run_once(scenario, static_cast<std::uint64_t>(seed)).makespan;
  return all / seeds;
}

TEST(TileQueue, IsNearTheIdealForAnySpeeds) {
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}}), 1.01);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 10}, .tiles = 64}), 1.06);
}

TEST(TileQueue, AdaptsToAThrottledDevice) {
  // The best possible is 1.117.
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}, .throttled_at = 0.3, .throttled_to = 0.6}), 1.14);
}

TEST(TileQueue, LosesLittleTimeIfADeviceFails) {
  // The best possible are 1.167 and 1.5.
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .dies_at = 0.5}), 1.20);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .dies_at = 0.5}), 1.54);
}

TEST(TileQueue, SharesAreWithinFivePercentOfTheIdealAndOfTheBestStaticSplit) {
  for (const std::vector<double>& speeds :
       std::vector<std::vector<double>>{{1, 2}, {1, 1.8}, {1, 1}, {3, 1}, {5, 4}, {1, 4}}) {
    const Scenario scenario{.speeds = speeds, .drift = 0};
    const Result found = run_once(scenario, 1);
    for (std::size_t d = 0; d < speeds.size(); ++d)
      EXPECT_NEAR(found.shares[d], speeds[d] / sum(speeds), 0.05 * speeds[d] / sum(speeds))
          << speeds[0] << speeds[1];
    // Every static split of the same tiles.
    double best = INFINITY;
    for (std::size_t first = 0; first <= scenario.tiles; ++first)
      best = std::min(best, std::max(static_cast<double>(first) / speeds[0],
                                     static_cast<double>(scenario.tiles - first) / speeds[1]));
    EXPECT_LE(found.makespan, 1.10 * best * sum(speeds) / static_cast<double>(scenario.tiles));
  }
}

TEST(TileQueue, FixedBandsStayWithTheirDevices) {
  using Bands = std::vector<std::deque<std::size_t>>;
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 5); };
  TileQueue queue({1, 1, 1, 1}, Bands{{0, 3}, {2, 1}});
  EXPECT_EQ(run_virtually(queue, 2, behaviour).end(), 10);
  for (const std::size_t tile : {0u, 3u}) EXPECT_EQ(queue.owner(tile), 0u);
  for (const std::size_t tile : {1u, 2u}) EXPECT_EQ(queue.owner(tile), 1u);
  TileQueue bereft({1, 1, 1, 1}, Bands{{0, 3}, {2, 1}});
  behaviour.dies = {INFINITY, 6};
  EXPECT_EQ(run_virtually(bereft, 2, behaviour).end(), 7);
  EXPECT_EQ(bereft.owner(2), 1u);
  EXPECT_EQ(bereft.owner(1), 0u);
  EXPECT_THROW(TileQueue({1, 1}, Bands{{0}, {0}}), Error);
}

// Each tile is dealt out once in any order, and at the end a band's last tiles go to others.
TEST(TileQueue, TakesTilesInACustomOrder) {
  TileQueue queue(std::vector<double>(36, 1.0), std::vector<double>{1.0, 1.0});
  queue.set_order([](std::size_t device, const std::vector<std::size_t>& tiles) {
    return device == 0 ? std::vector<std::size_t>(tiles.rbegin(), tiles.rend()) : tiles;
  });
  EXPECT_EQ(queue.take(0, 0), 17U);
  EXPECT_EQ(queue.take(0, 0), 16U);
  EXPECT_EQ(queue.take(1, 0), 18U);
  queue.mark_failed(0);
  std::vector<std::size_t> rest;
  queue.commit(1, 18, 1);
  while (const auto tile = queue.take(1, 1)) {
    rest.push_back(*tile);
    queue.commit(1, *tile, 2);
  }
  EXPECT_EQ(rest.size(), 35U);
  EXPECT_TRUE(queue.done());
  TileQueue other(std::vector<double>(4, 1.0), std::vector<double>{1.0});
  EXPECT_THROW(other.set_order([](std::size_t, const std::vector<std::size_t>&) {
    return std::vector<std::size_t>{0, 0, 1, 2};
  }),
               Error);
}

TEST(TileQueue, WorksWithoutSpeedEstimates) {
  TileQueue queue(std::vector<double>(200, 3), std::vector<double>{0, 0});
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 3); };
  const Timeline timeline = run_virtually(queue, 2, behaviour);
  EXPECT_LE(timeline.end(), 1.05 * 200 / (1 + 1.0 / 3));
}

TEST(TileQueue, AssumesThatALateDeviceIsLikeTheOthers) {
  // Both are ten times as fast as guessed; the first has shown it when the second begins.
  TileQueue queue(std::vector<double>(9, 1), std::vector<double>{1, 1}, 1);
  ASSERT_TRUE(queue.commit(0, *queue.take(0, 0), 0.1));
  ASSERT_TRUE(queue.take(0, 0.1).has_value());
  EXPECT_TRUE(queue.take(1, 0.11).has_value());
}

TEST(TileQueue, DoesNotRelyOnAStoppedDevice) {
  // The first shows a speed of 1, then holds a tile forever. The second is slow, but is the only one left.
  TileQueue queue(std::vector<double>(6, 1), std::vector<double>{1, 0.01}, 1);
  ASSERT_TRUE(queue.commit(0, *queue.take(0, 0), 1));
  ASSERT_TRUE(queue.take(0, 1).has_value());
  EXPECT_FALSE(queue.take(1, 1.5).has_value());
  for (double now = 1000; now < 1400; now += 100) {
    const auto tile = queue.take(1, now);
    ASSERT_TRUE(tile.has_value()) << now;
    EXPECT_TRUE(queue.commit(1, *tile, now + 100));
  }
}

TEST(TileQueue, LeavesTheLastTileToTheDeviceThatFinishesFirst) {
  // Nine tiles at speeds of 1 and 10: the slow one would need ten times as long for the last.
  TileQueue queue(std::vector<double>(9, 1), std::vector<double>{1, 10});
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 0.1); };
  EXPECT_LE(run_virtually(queue, 2, behaviour).end(), 0.9 + 1e-9);
}

TEST(TileQueue, ATileIsDeliveredOnce) {
  TileQueue queue({1, 1, 1}, std::vector<double>{1, 1});
  const auto tile = queue.take(0, 0);
  ASSERT_TRUE(tile.has_value());
  queue.mark_failed(0);
  EXPECT_FALSE(queue.commit(0, *tile, 1));
  EXPECT_FALSE(queue.take(0, 1).has_value());
  for (int i = 0; i < 3; ++i) {
    const auto other = queue.take(1, i);
    ASSERT_TRUE(other.has_value());
    EXPECT_TRUE(queue.commit(1, *other, i + 1));
    EXPECT_FALSE(queue.commit(1, *other, i + 1));
  }
  EXPECT_TRUE(queue.done());
}

TEST(TileQueue, RequeuedTilesAreTakenAgain) {
  TileQueue queue({1, 1}, std::vector<double>{1});
  const auto tile = queue.take(0, 0);
  queue.requeue(0, *tile);
  EXPECT_EQ(queue.take(0, 1), tile);
}

TEST(TileQueue, ReportsWhenAllDevicesFailed) {
  TileQueue queue({1, 1}, std::vector<double>{1});
  Behaviour behaviour;
  behaviour.done = [](std::size_t, std::size_t, double now) { return now + 1; };
  behaviour.dies = {0.5};
  EXPECT_THROW(run_virtually(queue, 1, behaviour), Error);
}

TEST(TileQueue, AnEmptyQueueIsDone) {
  TileQueue queue({}, std::vector<double>{1, 2});
  EXPECT_TRUE(queue.done());
  EXPECT_FALSE(queue.take(0, 0).has_value());
}

using Speeds = std::vector<double>;

// Gives every tile to the device that finishes it first, which is optimal for tiles of one size.
double best_split(const Speeds& speeds, std::size_t tiles) {
  Speeds ends(speeds.size(), 0);
  for (std::size_t t = 0; t < tiles; ++t) {
    std::size_t best = 0;
    for (std::size_t d = 1; d < speeds.size(); ++d)
      if (ends[d] + 1 / speeds[d] < ends[best] + 1 / speeds[best]) best = d;
    ends[best] += 1 / speeds[best];
  }
  return *std::ranges::max_element(ends);
}

double time_of(const Speeds& speeds, const Speeds& guesses, std::size_t tiles, std::size_t in_flight) {
  TileQueue queue(std::vector<double>(tiles, 1), guesses, in_flight);
  Behaviour behaviour;
  behaviour.done = [&](std::size_t d, std::size_t, double now) { return now + 1 / speeds[d]; };
  return run_virtually(queue, speeds.size(), behaviour).end();
}

// Speeds up to 1:40 of two and three devices, the slow one first or last. If devices are presumed to be
// alike, the others wait for a slow device's first tile, or for its first two, if tiles are many and it has
// two at a time. Right guesses cost nothing.
TEST(TileQueueCorners, WrongEstimatesCostOnlyTheFirstTilesOfASlowDevice) {
  for (const std::size_t in_flight : {1, 2})
    for (const double ratio : {1.8, 3.0, 8.0, 16.0, 40.0})
      for (const Speeds& speeds : std::vector<Speeds>{{1, ratio}, {ratio, 1}, {1, ratio, ratio}})
        for (const std::size_t tiles : {16, 19, 32, 35, 64, 67, 256, 259}) {
          const double best = best_split(speeds, tiles);
          const double first = tiles < 16 * speeds.size() ? 1 : static_cast<double>(in_flight);
          const std::string where = std::to_string(speeds[0]) + ":" + std::to_string(speeds[1]) + " of " +
                                    std::to_string(speeds.size()) + ", " + std::to_string(tiles) +
                                    " tiles, " + std::to_string(in_flight) + " in flight";
          EXPECT_LE(time_of(speeds, speeds, tiles, in_flight), 1.01 * best) << where;
          EXPECT_LE(time_of(speeds, Speeds(speeds.size(), 1), tiles, in_flight), 1.01 * std::max(best, first))
              << where;
        }
}

}  // namespace
}  // namespace tessera
