// SPDX-License-Identifier: Apache-2.0
// The queue on a virtual clock: what it costs not to know the devices beforehand. The bounds are those of a
// simulation of the same schedules, with speeds that drift by 5 % and were measured 10 % wrong. Corners: few
// tiles, speeds far apart, wrong guesses; each time against the best static split of the same tiles.
#include "tessera/run/multi_device/tile_queue.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include "tests/virtual_clock.hpp"
#include "tessera/core/random.hpp"

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
  TileQueue::Mode mode = TileQueue::Mode::dynamic;
  bool cancels = false;  // devices can
};

struct Result {
  double makespan = 0;         // as a multiple of the time that all speeds together would take
  std::vector<double> shares;  // of the tiles
};

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Speeds wander slowly about what they are, each device on its own.
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
  out.cancels = scenario.cancels;
  if (std::isfinite(scenario.dies_at)) out.dies = {scenario.dies_at * ideal};
  return out;
}

Result run_once(const Scenario& scenario, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> guesses;
  for (const double speed : scenario.speeds)
    guesses.push_back(speed * std::max(0.5, 1 + 0.1 * random.normal()));
  TileQueue queue(std::vector<double>(scenario.tiles, 1), guesses, scenario.mode);
  const Timeline timeline = run_virtually(queue, scenario.speeds.size(), behaviour_of(scenario, seed));
  Result out{timeline.end() * sum(scenario.speeds) / static_cast<double>(scenario.tiles),
             std::vector<double>(scenario.speeds.size(), 0)};
  EXPECT_TRUE(queue.done());
  for (std::size_t tile = 0; tile < scenario.tiles; ++tile)
    out.shares[*queue.owner(tile)] += 1 / static_cast<double>(scenario.tiles);
  return out;
}

double mean_makespan(const Scenario& scenario) {
  constexpr int seeds = 60;
  double all = 0;
  for (int seed = 0; seed < seeds; ++seed)
    all += run_once(scenario, static_cast<std::uint64_t>(seed)).makespan;
  return all / seeds;
}

TEST(TileQueue, ComesNearTheIdealWhateverTheSpeeds) {
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}}), 1.01);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 10}, .tiles = 64}), 1.06);
}

// Who leaves a tile loses what it has done of it: drift alone must not make it.
TEST(TileQueue, DevicesThatCanLeaveTheirTilesComeAsNear) {
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .cancels = true}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .cancels = true}), 1.02);
  EXPECT_LE(mean_makespan({.speeds = {1, 10}, .tiles = 64, .cancels = true}), 1.06);
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}, .throttled_at = 0.3, .throttled_to = 0.6, .cancels = true}),
            1.14);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .dies_at = 0.5, .cancels = true}), 1.54);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .mode = TileQueue::Mode::measured, .cancels = true}),
            1.10);
}

TEST(TileQueue, LivesWithAThrottledDevice) {
  // What is possible is 1.117.
  EXPECT_LE(mean_makespan({.speeds = {1, 1.8}, .throttled_at = 0.3, .throttled_to = 0.6}), 1.14);
}

TEST(TileQueue, LosesLittleWithADevice) {
  // What is possible: 1.167 and 1.5.
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .dies_at = 0.5}), 1.20);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}, .dies_at = 0.5}), 1.54);
}

TEST(TileQueue, SharesAreWithinFivePercentOfTheIdealAndOfTheBestStaticSplit) {
  for (const auto mode : {TileQueue::Mode::dynamic, TileQueue::Mode::measured})
    for (const std::vector<double>& speeds :
         std::vector<std::vector<double>>{{1, 2}, {1, 1.8}, {1, 1}, {3, 1}, {5, 4}, {1, 4}}) {
      const Scenario scenario{.speeds = speeds, .drift = 0, .mode = mode};
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

TEST(TileQueue, BandsSettledByMeasuredSpeedsFollowDriftLess) {
  const double settled = mean_makespan({.speeds = {4, 2, 1, 1}, .mode = TileQueue::Mode::measured});
  EXPECT_LE(settled, 1.10);
  EXPECT_LE(mean_makespan({.speeds = {4, 2, 1, 1}}), settled);
  // A loss frees the others to take what is left.
  EXPECT_LE(mean_makespan({.speeds = {1, 1, 1, 1}, .dies_at = 0.5, .mode = TileQueue::Mode::measured}), 1.30);
}

TEST(TileQueue, SettledBandsStayWithTheirDevices) {
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

// Whatever the order, each tile is dealt out once, and at the end a band's last tiles go to others.
TEST(TileQueue, BandsMayBeTakenInAnotherOrder) {
  TileQueue queue(std::vector<double>(36, 1.0), std::vector<double>{1.0, 1.0});
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
  TileQueue other(std::vector<double>(4, 1.0), std::vector<double>{1.0});
  EXPECT_THROW(other.arrange([](std::size_t, const std::vector<std::size_t>&) {
    return std::vector<std::size_t>{0, 0, 1, 2};
  }),
               Error);
}

TEST(TileQueue, NeedsNoGuessOfASpeed) {
  TileQueue queue(std::vector<double>(200, 3), std::vector<double>{0, 0});
  Behaviour behaviour;
  behaviour.done = [](std::size_t d, std::size_t, double now) { return now + (d == 0 ? 1 : 3); };
  const Timeline timeline = run_virtually(queue, 2, behaviour);
  EXPECT_LE(timeline.end(), 1.05 * 200 / (1 + 1.0 / 3));
  EXPECT_NEAR(queue.speed(0) / queue.speed(1), 3, 1e-9);
}

TEST(TileQueue, ADeviceThatBeginsLateIsPresumedToBeLikeTheOthers) {
  // Both are ten times as fast as anybody guessed; the first has shown it when the second comes.
  TileQueue queue(std::vector<double>(9, 1), std::vector<double>{1, 1}, TileQueue::Mode::dynamic, 1);
  ASSERT_TRUE(queue.commit(0, *queue.take(0, 0), 0.1));
  ASSERT_TRUE(queue.take(0, 0.1).has_value());
  EXPECT_TRUE(queue.take(1, 0.11).has_value());
}

TEST(TileQueue, ADeviceThatHasStoppedIsNotCountedOn) {
  // The first shows a speed of 1, then holds a tile for ever. The second is slow, but nobody else is there.
  TileQueue queue(std::vector<double>(6, 1), std::vector<double>{1, 0.01}, TileQueue::Mode::dynamic, 1);
  ASSERT_TRUE(queue.commit(0, *queue.take(0, 0), 1));
  ASSERT_TRUE(queue.take(0, 1).has_value());
  EXPECT_FALSE(queue.take(1, 1.5).has_value());
  for (double now = 1000; now < 1400; now += 100) {
    const auto tile = queue.take(1, now);
    ASSERT_TRUE(tile.has_value()) << now;
    EXPECT_TRUE(queue.commit(1, *tile, now + 100));
  }
}

TEST(TileQueue, LeavesTheLastTileToWhoFinishesItFirst) {
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

TEST(TileQueue, WhatIsGivenBackIsDealtOutAgain) {
  TileQueue queue({1, 1}, std::vector<double>{1});
  const auto tile = queue.take(0, 0);
  queue.give_back(0, *tile);
  EXPECT_EQ(queue.take(0, 1), tile);
  EXPECT_EQ(queue.holds(0), 1u);
}

TEST(TileQueue, AllLostIsAnError) {
  TileQueue queue({1, 1}, std::vector<double>{1});
  Behaviour behaviour;
  behaviour.done = [](std::size_t, std::size_t, double now) { return now + 1; };
  behaviour.dies = {0.5};
  EXPECT_THROW(run_virtually(queue, 1, behaviour), Error);
}

TEST(TileQueue, NothingToDoIsDone) {
  TileQueue queue({}, std::vector<double>{1, 2});
  EXPECT_TRUE(queue.done());
  EXPECT_FALSE(queue.take(0, 0).has_value());
}

using Speeds = std::vector<double>;

// Every tile to whoever finishes it first, which is the best for tiles of one size.
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

struct How {
  TileQueue::Mode mode;
  std::size_t in_flight;
  bool cancels;
};

double time_of(const Speeds& speeds, const Speeds& guesses, std::size_t tiles, const How& how) {
  TileQueue queue(std::vector<double>(tiles, 1), guesses, how.mode, how.in_flight);
  Behaviour behaviour;
  behaviour.done = [&](std::size_t d, std::size_t, double now) { return now + 1 / speeds[d]; };
  behaviour.cancels = how.cancels;
  return run_virtually(queue, speeds.size(), behaviour).end();
}

struct Corner {
  double ratio = 0;
  std::string where;
};

// The worst of speeds up to 1:40, two to four devices, the slow one first or last, and guesses that are
// right, equal, or the wrong way round.
Corner worst(const std::vector<std::size_t>& counts, const How& how, bool guessed_right) {
  Corner out;
  for (const double ratio : {1.8, 3.0, 8.0, 16.0, 40.0})
    for (const Speeds& speeds :
         std::vector<Speeds>{{1, ratio}, {ratio, 1}, {1, ratio, ratio}, {1, 1, ratio, ratio}, {ratio, 1, 1}})
      for (const std::size_t tiles : counts) {
        Speeds turned;
        for (const double speed : speeds) turned.push_back(1 / speed);
        for (const Speeds& guesses : guessed_right ? std::vector<Speeds>{speeds}
                                     : how.cancels ? std::vector<Speeds>{Speeds(speeds.size(), 1), turned}
                                                   : std::vector<Speeds>{Speeds(speeds.size(), 1)}) {
          const double found = time_of(speeds, guesses, tiles, how) / best_split(speeds, tiles);
          if (found > out.ratio)
            out = {found, std::to_string(speeds[0]) + ":" + std::to_string(speeds[1]) + " of " +
                              std::to_string(speeds.size()) + ", " + std::to_string(tiles) +
                              " tiles, guess " + std::to_string(guesses[0] / guesses[1])};
        }
      }
  return out;
}

constexpr TileQueue::Mode both[] = {TileQueue::Mode::dynamic, TileQueue::Mode::measured};
constexpr std::size_t counts[] = {16, 19, 32, 35, 64, 67, 256, 259};

TEST(TileQueueCorners, DevicesThatCanLeaveTheirTileCostNothingWhateverWasGuessed) {
  for (const auto mode : both)
    for (const std::size_t in_flight : {1, 2})
      for (const bool right : {true, false})
        for (const std::size_t tiles : counts) {
          const Corner found = worst({tiles}, {mode, in_flight, true}, right);
          EXPECT_LE(found.ratio, 1.01) << found.where << ", " << in_flight << " in flight";
        }
}

TEST(TileQueueCorners, RightGuessesCostNothingEither) {
  for (const auto mode : both)
    for (const std::size_t in_flight : {1, 2})
      for (const std::size_t tiles : counts) {
        const Corner found = worst({tiles}, {mode, in_flight, false}, true);
        EXPECT_LE(found.ratio, 1.01) << found.where << ", " << in_flight << " in flight";
      }
}

// Devices that finish what they have begun: where they are presumed to be alike, a slow one's first tile is
// waited for, or its first two, where tiles are many and it has two at a time.
TEST(TileQueueCorners, ASlowDevicesFirstTilesAreAllThatWrongGuessesCost) {
  for (const auto mode : both)
    for (const std::size_t in_flight : {1, 2})
      for (const double ratio : {1.8, 3.0, 8.0, 16.0, 40.0})
        for (const Speeds& speeds : std::vector<Speeds>{{1, ratio}, {ratio, 1}, {1, ratio, ratio}})
          for (const std::size_t tiles : counts) {
            const double first = tiles < 16 * speeds.size() ? 1 : static_cast<double>(in_flight);
            EXPECT_LE(time_of(speeds, Speeds(speeds.size(), 1), tiles, {mode, in_flight, false}),
                      1.01 * std::max(best_split(speeds, tiles), first))
                << ratio << " of " << speeds.size() << ", " << tiles << " tiles, " << in_flight
                << " in flight";
          }
}

TEST(TileQueueCorners, WhatIsLeftGoesToWhoWantsIt) {
  TileQueue queue({1, 1}, std::vector<double>{1, 1}, TileQueue::Mode::dynamic, 1);
  queue.can_cancel(0);
  ASSERT_EQ(queue.take(0, 0), 0U);
  ASSERT_EQ(queue.take(1, 0), 1U);
  EXPECT_FALSE(queue.takeover_by(1, 0.5));  // it is at work itself
  ASSERT_TRUE(queue.commit(1, 1, 1));
  const auto takeover = queue.takeover_by(1, 1);
  ASSERT_TRUE(takeover.has_value());
  EXPECT_EQ(takeover->device, 0U);
  EXPECT_EQ(takeover->tile, 0U);
  EXPECT_EQ(takeover->at, 4);  // by then four times as long as the other would take
  queue.cancel(0, 0, 1, 4);
  EXPECT_FALSE(queue.commit(0, 0, 4));
  EXPECT_FALSE(queue.take(0, 4).has_value());
  ASSERT_EQ(queue.take(1, 4), 0U);
  EXPECT_TRUE(queue.commit(1, 0, 5));
  EXPECT_TRUE(queue.done());
}

// Neither one that cannot, nor where somebody named the shares.
TEST(TileQueueCorners, NobodyIsCancelledWhoShallNotBe) {
  TileQueue steadfast({1, 1}, std::vector<double>{1, 1}, TileQueue::Mode::dynamic, 1);
  TileQueue named({1, 1}, std::vector<std::deque<std::size_t>>{{0}, {1}}, 1);
  named.can_cancel(0);
  for (TileQueue* const queue : {&steadfast, &named}) {
    ASSERT_EQ(queue->take(0, 0), 0U);
    ASSERT_EQ(queue->take(1, 0), 1U);
    ASSERT_TRUE(queue->commit(1, 1, 1));
    EXPECT_FALSE(queue->takeover_by(1, 1000));
  }
}

}  // namespace
}  // namespace tessera
