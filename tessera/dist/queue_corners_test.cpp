// SPDX-License-Identifier: Apache-2.0
// The queue on a virtual clock where one tile is long for a slow device: few tiles, speeds far apart, guesses
// that are wrong by all of that. Each time is held against the best static split of the same tiles.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <string>
#include "tessera/dist/clock.hpp"
#include "tessera/dist/queue.hpp"

namespace tessera::dist {
namespace {

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
  Queue::Dealing dealing;
  std::size_t in_flight;
  bool leaves;
};

double time_of(const Speeds& speeds, const Speeds& guesses, std::size_t tiles, const How& how) {
  Queue queue(std::vector<double>(tiles, 1), guesses, how.dealing, how.in_flight);
  Behaviour behaviour;
  behaviour.done = [&](std::size_t d, std::size_t, double now) { return now + 1 / speeds[d]; };
  behaviour.leaves = how.leaves;
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
                                     : how.leaves  ? std::vector<Speeds>{Speeds(speeds.size(), 1), turned}
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

constexpr Queue::Dealing both[] = {Queue::Dealing::dynamic, Queue::Dealing::measured};
constexpr std::size_t counts[] = {16, 19, 32, 35, 64, 67, 256, 259};

TEST(QueueCorners, DevicesThatCanLeaveTheirTileCostNothingWhateverWasGuessed) {
  for (const auto dealing : both)
    for (const std::size_t in_flight : {1, 2})
      for (const bool right : {true, false})
        for (const std::size_t tiles : counts) {
          const Corner found = worst({tiles}, {dealing, in_flight, true}, right);
          EXPECT_LE(found.ratio, 1.01) << found.where << ", " << in_flight << " in flight";
        }
}

TEST(QueueCorners, RightGuessesCostNothingEither) {
  for (const auto dealing : both)
    for (const std::size_t in_flight : {1, 2})
      for (const std::size_t tiles : counts) {
        const Corner found = worst({tiles}, {dealing, in_flight, false}, true);
        EXPECT_LE(found.ratio, 1.01) << found.where << ", " << in_flight << " in flight";
      }
}

// Devices that finish what they have begun: where they are presumed to be alike, a slow one's first tile is
// waited for, or its first two, where tiles are many and it has two at a time.
TEST(QueueCorners, ASlowDevicesFirstTilesAreAllThatWrongGuessesCost) {
  for (const auto dealing : both)
    for (const std::size_t in_flight : {1, 2})
      for (const double ratio : {1.8, 3.0, 8.0, 16.0, 40.0})
        for (const Speeds& speeds : std::vector<Speeds>{{1, ratio}, {ratio, 1}, {1, ratio, ratio}})
          for (const std::size_t tiles : counts) {
            const double first = tiles < 16 * speeds.size() ? 1 : static_cast<double>(in_flight);
            EXPECT_LE(time_of(speeds, Speeds(speeds.size(), 1), tiles, {dealing, in_flight, false}),
                      1.01 * std::max(best_split(speeds, tiles), first))
                << ratio << " of " << speeds.size() << ", " << tiles << " tiles, " << in_flight
                << " in flight";
          }
}

TEST(QueueCorners, WhatIsLeftGoesToWhoAskedForIt) {
  Queue queue({1, 1}, std::vector<double>{1, 1}, Queue::Dealing::dynamic, 1);
  queue.can_leave(0);
  ASSERT_EQ(queue.take(0, 0), 0U);
  ASSERT_EQ(queue.take(1, 0), 1U);
  EXPECT_FALSE(queue.better_by(1, 0.5));  // it is at work itself
  ASSERT_TRUE(queue.commit(1, 1, 1));
  const auto better = queue.better_by(1, 1);
  ASSERT_TRUE(better.has_value());
  EXPECT_EQ(better->device, 0U);
  EXPECT_EQ(better->tile, 0U);
  EXPECT_EQ(better->at, 4);  // by then four times as long as the other would take
  queue.leave(0, 0, 1, 4);
  EXPECT_FALSE(queue.commit(0, 0, 4));
  EXPECT_FALSE(queue.take(0, 4).has_value());
  ASSERT_EQ(queue.take(1, 4), 0U);
  EXPECT_TRUE(queue.commit(1, 0, 5));
  EXPECT_TRUE(queue.done());
}

// Neither one that cannot, nor where somebody named the shares.
TEST(QueueCorners, NobodyIsAskedToLeaveWhoShallNot) {
  Queue steadfast({1, 1}, std::vector<double>{1, 1}, Queue::Dealing::dynamic, 1);
  Queue named({1, 1}, std::vector<std::deque<std::size_t>>{{0}, {1}}, 1);
  named.can_leave(0);
  for (Queue* const queue : {&steadfast, &named}) {
    ASSERT_EQ(queue->take(0, 0), 0U);
    ASSERT_EQ(queue->take(1, 0), 1U);
    ASSERT_TRUE(queue->commit(1, 1, 1));
    EXPECT_FALSE(queue->better_by(1, 1000));
  }
}

}  // namespace
}  // namespace tessera::dist
