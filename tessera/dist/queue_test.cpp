// SPDX-License-Identifier: Apache-2.0
// The queue on a virtual clock: what it costs not to know the devices beforehand. The bounds are those of a
// simulation of the same schedules, with speeds that drift by 5 % and were measured 10 % wrong.
#include "tessera/dist/queue.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include "tessera/core/random.hpp"
#include "tessera/dist/clock.hpp"
#include "tessera/dist/split.hpp"

namespace tessera::dist {
namespace {

struct Setting {
  std::vector<double> speeds;
  std::size_t tiles = 256;
  double drift = 0.05;
  double throttled_at = INFINITY,
         throttled_to = 1;    // the first device, as shares of the ideal time and speed
  double dies_at = INFINITY;  // likewise
  Queue::Dealing dealing = Queue::Dealing::dynamic;
  bool leaves = false;  // devices can
};

struct Result {
  double makespan = 0;         // as a multiple of the time that all speeds together would take
  std::vector<double> shares;  // of the tiles
};

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Speeds wander slowly about what they are, each device on its own.
Behaviour behaviour_of(const Setting& setting, std::uint64_t seed) {
  const double ideal = static_cast<double>(setting.tiles) / sum(setting.speeds);
  auto drifts = std::make_shared<std::vector<double>>(setting.speeds.size(), 0);
  auto random = std::make_shared<Random>(seed, 7);
  Behaviour out;
  out.done = [setting, ideal, drifts, random](std::size_t d, std::size_t, double now) {
    double& drift = (*drifts)[d];
    drift = 0.9 * drift + std::sqrt(1 - 0.81) * setting.drift * random->normal();
    const double speed = setting.speeds[d] * (1 + drift), throttle = setting.throttled_at * ideal;
    if (d != 0 || now + 1 / speed <= throttle) return now + 1 / speed;
    const double before = std::max(0.0, throttle - now) * speed;
    return std::max(now, throttle) + (1 - before) / (speed * setting.throttled_to);
  };
  out.leaves = setting.leaves;
  if (std::isfinite(setting.dies_at)) out.dies = {setting.dies_at * ideal};
  return out;
}

Result run_once(const Setting& setting, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> guesses;
  for (const double speed : setting.speeds)
    guesses.push_back(speed * std::max(0.5, 1 + 0.1 * random.normal()));
  Queue queue(std::vector<double>(setting.tiles, 1), guesses, setting.dealing);
  const Timeline timeline = run_virtually(queue, setting.speeds.size(), behaviour_of(setting, seed));
  Result out{timeline.end() * sum(setting.speeds) / static_cast<double>(setting.tiles),
             std::vector<double>(setting.speeds.size(), 0)};
  EXPECT_TRUE(queue.done());
  for (std::size_t tile = 0; tile < setting.tiles; ++tile)
    out.shares[*queue.owner(tile)] += 1 / static_cast<double>(setting.tiles);
  return out;
}

double mean_makespan(const Setting& setting) {
  constexpr int seeds = 60;
  double all = 0;
  for (int seed = 0; seed < seeds; ++seed)
    all += run_once(setting, static_cast<std::uint64_t>(seed)).makespan;
  return all / seeds;
}

TEST(Queue, ComesNearTheIdealWhateverTheSpeeds) {
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}}), 1.01);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 10}, .tiles = 64}), 1.06);
}

// Who leaves a tile loses what it has done of it: drift alone must not make it.
TEST(Queue, DevicesThatCanLeaveTheirTilesComeAsNear) {
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .leaves = true}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .leaves = true}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 10}, .tiles = 64, .leaves = true}), 1.06);
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}, .throttled_at = 0.3, .throttled_to = 0.6, .leaves = true}),
            1.14);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .dies_at = 0.5, .leaves = true}), 1.54);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .dealing = Queue::Dealing::measured, .leaves = true}),
            1.10);
}

TEST(Queue, LivesWithAThrottledDevice) {
  // What is possible is 1.117.
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}, .throttled_at = 0.3, .throttled_to = 0.6}), 1.14);
}

TEST(Queue, LosesLittleWithADevice) {
  // What is possible: 1.167 and 1.5.
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .dies_at = 0.5}), 1.20);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .dies_at = 0.5}), 1.54);
}

TEST(Queue, SharesAreWithinFivePercentOfTheIdealAndOfTheBestStaticSplit) {
  for (const auto dealing : {Queue::Dealing::dynamic, Queue::Dealing::measured})
    for (const std::vector<double>& speeds :
         std::vector<std::vector<double>>{{1, 2}, {1, 1.8}, {1, 1}, {3, 1}, {5, 4}, {1, 4}}) {
      const Setting setting{.speeds = speeds, .drift = 0, .dealing = dealing};
      const Result found = run_once(setting, 1);
      for (std::size_t d = 0; d < speeds.size(); ++d)
        EXPECT_NEAR(found.shares[d], speeds[d] / sum(speeds), 0.05 * speeds[d] / sum(speeds))
            << speeds[0] << speeds[1];
      // Every static split of the same tiles.
      double best = INFINITY;
      for (std::size_t first = 0; first <= setting.tiles; ++first)
        best = std::min(best, std::max(static_cast<double>(first) / speeds[0],
                                       static_cast<double>(setting.tiles - first) / speeds[1]));
      EXPECT_LE(found.makespan, 1.10 * best * sum(speeds) / static_cast<double>(setting.tiles));
    }
}

TEST(Queue, BandsSettledByMeasuredSpeedsFollowDriftLess) {
  const double settled = mean_makespan({.speeds = {4, 2, 1, 1}, .dealing = Queue::Dealing::measured});
  EXPECT_LE(settled, 1.10);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}}), settled);
  // A loss frees the others to take what is left.
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .dies_at = 0.5, .dealing = Queue::Dealing::measured}),
            1.30);
}

TEST(Queue, SettledBandsStayWithTheirDevices) {
  using Bands = std::vector<std::deque<std::size_t>>;
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 5); };
  Queue queue({1, 1, 1, 1}, Bands{{0, 3}, {2, 1}});
  EXPECT_EQ(run_virtually(queue, 2, behaviour).end(), 10);
  for (const std::size_t tile : {0u, 3u}) EXPECT_EQ(queue.owner(tile), 0u);
  for (const std::size_t tile : {1u, 2u}) EXPECT_EQ(queue.owner(tile), 1u);
  Queue bereft({1, 1, 1, 1}, Bands{{0, 3}, {2, 1}});
  behaviour.dies = {INFINITY, 6};
  EXPECT_EQ(run_virtually(bereft, 2, behaviour).end(), 7);
  EXPECT_EQ(bereft.owner(2), 1u);
  EXPECT_EQ(bereft.owner(1), 0u);
  EXPECT_THROW(Queue({1, 1}, Bands{{0}, {0}}), Error);
}

// Whatever the order, each tile is dealt out once, and at the end a band's last tiles go to others.
TEST(Queue, BandsMayBeTakenInAnotherOrder) {
  Queue queue(std::vector<double>(36, 1.0), std::vector<double>{1.0, 1.0});
  queue.arrange([](std::size_t device, const std::vector<std::size_t>& tiles) {
    return device == 0 ? std::vector<std::size_t>(tiles.rbegin(), tiles.rend()) : tiles;
  });
  EXPECT_EQ(queue.take(0, 0), 17U);
  EXPECT_EQ(queue.take(0, 0), 16U);
  EXPECT_EQ(queue.take(1, 0), 18U);
  queue.lose(0);
  std::vector<std::size_t> rest;
  queue.commit(1, 18, 1);
  while (const auto tile = queue.take(1, 1)) {
    rest.push_back(*tile);
    queue.commit(1, *tile, 2);
  }
  EXPECT_EQ(rest.size(), 35U);
  EXPECT_TRUE(queue.done());
  Queue other(std::vector<double>(4, 1.0), std::vector<double>{1.0});
  EXPECT_THROW(other.arrange([](std::size_t, const std::vector<std::size_t>&) {
    return std::vector<std::size_t>{0, 0, 1, 2};
  }),
               Error);
}

TEST(Queue, NeedsNoGuessOfASpeed) {
  Queue queue(std::vector<double>(200, 3), std::vector<double>{0, 0});
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 3); };
  const Timeline timeline = run_virtually(queue, 2, behaviour);
  EXPECT_LE(timeline.end(), 1.05 * 200 / (1 + 1.0 / 3));
  EXPECT_NEAR(queue.speed(0) / queue.speed(1), 3, 1e-9);
}

TEST(Queue, ADeviceThatBeginsLateIsPresumedToBeLikeTheOthers) {
  // Both are ten times as fast as anybody guessed; the first has shown it when the second comes.
  Queue queue(std::vector<double>(9, 1), std::vector<double>{1, 1}, Queue::Dealing::dynamic, 1);
  ASSERT_TRUE(queue.commit(0, *queue.take(0, 0), 0.1));
  ASSERT_TRUE(queue.take(0, 0.1).has_value());
  EXPECT_TRUE(queue.take(1, 0.11).has_value());
}

TEST(Queue, ADeviceThatHasStoppedIsNotCountedOn) {
  // The first shows a speed of 1, then holds a tile for ever. The second is slow, but nobody else is there.
  Queue queue(std::vector<double>(6, 1), std::vector<double>{1, 0.01}, Queue::Dealing::dynamic, 1);
  ASSERT_TRUE(queue.commit(0, *queue.take(0, 0), 1));
  ASSERT_TRUE(queue.take(0, 1).has_value());
  EXPECT_FALSE(queue.take(1, 1.5).has_value());
  for (double now = 1000; now < 1400; now += 100) {
    const auto tile = queue.take(1, now);
    ASSERT_TRUE(tile.has_value()) << now;
    EXPECT_TRUE(queue.commit(1, *tile, now + 100));
  }
}

TEST(Queue, LeavesTheLastTileToWhoFinishesItFirst) {
  // Nine tiles at speeds of 1 and 10: the slow one would need ten times as long for the last.
  Queue queue(std::vector<double>(9, 1), std::vector<double>{1, 10});
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 0.1); };
  EXPECT_LE(run_virtually(queue, 2, behaviour).end(), 0.9 + 1e-9);
}

TEST(Queue, ATileIsDeliveredOnce) {
  Queue queue({1, 1, 1}, std::vector<double>{1, 1});
  const auto tile = queue.take(0, 0);
  ASSERT_TRUE(tile.has_value());
  queue.lose(0);
  EXPECT_FALSE(queue.commit(0, *tile, 1));
  EXPECT_FALSE(queue.take(0, 1).has_value());
  for (int i = 0; i < 3; ++i) {
    const auto other = queue.take(1, i);
    ASSERT_TRUE(other.has_value());
    EXPECT_TRUE(queue.commit(1, *other, i + 1));
    EXPECT_FALSE(queue.commit(1, *other, i + 1));
  }
  EXPECT_TRUE(queue.done());
  EXPECT_EQ(queue.usable(), 1u);
}

TEST(Queue, WhatIsGivenBackIsDealtOutAgain) {
  Queue queue({1, 1}, std::vector<double>{1});
  const auto tile = queue.take(0, 0);
  queue.give_back(0, *tile);
  EXPECT_EQ(queue.take(0, 1), tile);
  EXPECT_EQ(queue.holds(0), 1u);
}

TEST(Queue, AllLostIsAnError) {
  Queue queue({1, 1}, std::vector<double>{1});
  Behaviour behaviour;
  behaviour.done = [](std::size_t, std::size_t, double now) { return now + 1; };
  behaviour.dies = {0.5};
  EXPECT_THROW(run_virtually(queue, 1, behaviour), Error);
}

TEST(Queue, NothingToDoIsDone) {
  Queue queue({}, std::vector<double>{1, 2});
  EXPECT_TRUE(queue.done());
  EXPECT_FALSE(queue.take(0, 0).has_value());
}

}  // namespace
}  // namespace tessera::dist
