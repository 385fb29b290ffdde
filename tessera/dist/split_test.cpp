// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/split.hpp"
#include <gtest/gtest.h>
#include <cmath>
#include <map>

namespace tessera::dist {
namespace {

using Parts = std::vector<Interval>;

TEST(SplitByShares, CutsAtMultiplesOfTheGranule) {
  const std::vector<double> shares{2, 1};
  EXPECT_EQ(split_by_shares(3072, 16, shares), (Parts{{0, 2048}, {2048, 3072}}));
  EXPECT_EQ(split_by_shares(100, 16, shares), (Parts{{0, 80}, {80, 100}}));
  EXPECT_EQ(split_by_shares(5, 16, shares), (Parts{{0, 5}, {5, 5}}));
  EXPECT_EQ(split_by_shares(0, 16, shares), (Parts{{0, 0}, {0, 0}}));
}

TEST(SplitByShares, GivesNothingForAShareOfNothing) {
  EXPECT_EQ(split_by_shares(64, 1, std::vector<double>{0, 3, 0, 1}),
            (Parts{{0, 0}, {0, 48}, {48, 48}, {48, 64}}));
}

TEST(SplitByShares, RefusesWhatIsNoShare) {
  EXPECT_EQ(split_by_shares(64, 1, std::vector<double>{1e308, 1e308}), (Parts{{0, 32}, {32, 64}}));
  EXPECT_EQ(split_by_shares(64, 1, std::vector<double>{1e-320, 3e-320}), (Parts{{0, 16}, {16, 64}}));
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{0, 0}), Error);
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{1, -1}), Error);
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{1, NAN}), Error);
  EXPECT_THROW(split_by_shares(64, 1, std::vector<double>{}), Error);
}

TEST(SplitByShares, CoversEveryExtent) {
  for (std::int64_t extent = 0; extent < 200; ++extent)
    for (const std::int64_t granule : {1, 7, 16}) {
      const auto parts = split_by_shares(extent, granule, std::vector<double>{1, 0.3, 5, 2.2});
      std::int64_t at = 0;
      for (const Interval& part : parts) {
        EXPECT_EQ(part.first, at);
        EXPECT_GE(part.size(), 0);
        EXPECT_TRUE(part.last % granule == 0 || part.last == extent);
        at = part.last;
      }
      EXPECT_EQ(at, extent);
    }
}

// The measured times of two unlike devices at some shares of 3072 rows, with straight lines between them.
double between(const std::map<double, double>& measured, double rows) {
  if (rows <= 0) return 0;
  const auto above = measured.lower_bound(rows);
  if (above == measured.end()) return measured.rbegin()->second * rows / measured.rbegin()->first;
  if (above == measured.begin()) return above->second * rows / above->first;
  const auto below = std::prev(above);
  return below->second +
         (above->second - below->second) * (rows - below->first) / (above->first - below->first);
}

TEST(SplitByTime, FindsWhereTwoUnlikeDevicesFinishTogether) {
  const std::map<double, double> first{{32, 3},     {64, 8},     {256, 37},  {1024, 226},
                                       {1600, 219}, {2048, 340}, {3040, 574}};
  const std::map<double, double> second{{32, 5},     {1024, 142}, {1472, 201}, {2048, 249},
                                        {2816, 380}, {3008, 395}, {3040, 407}};
  // A device never takes less for more: what a larger share takes less for, a smaller one would, too.
  const Seconds seconds = [&](std::size_t device, std::int64_t rows) {
    double most = 0;
    for (std::int64_t r = rows % 32; r <= rows; r += 32)
      most = std::max(most, between(device == 0 ? first : second, static_cast<double>(r)));
    return most;
  };
  const auto parts = split_by_time(3072, 32, 2, seconds);
  const double ends = std::max(seconds(0, parts[0].size()), seconds(1, parts[1].size()));
  for (std::int64_t rows = 0; rows <= 3072; rows += 32)
    EXPECT_LE(ends, std::max(seconds(0, rows), seconds(1, 3072 - rows)) + 1e-9) << rows;
  EXPECT_LE(ends, 226);  // half the rows each: 249 and more
}

TEST(SplitByTime, IsWithinAGranuleOfTheIdealForConstantSpeeds) {
  for (const std::vector<double>& speeds :
       std::vector<std::vector<double>>{{1, 1}, {1, 1.8}, {1, 10}, {4, 2, 1, 1}, {1, 100}, {3, 0.7, 2}}) {
    const std::int64_t extent = 16384, granule = 16;
    const auto parts = split_by_time(extent, granule, speeds.size(), [&](std::size_t d, std::int64_t amount) {
      return static_cast<double>(amount) / speeds[d];
    });
    double all = 0;
    for (const double speed : speeds) all += speed;
    for (std::size_t d = 0; d < speeds.size(); ++d)
      EXPECT_NEAR(static_cast<double>(parts[d].size()), static_cast<double>(extent) * speeds[d] / all,
                  granule);
    EXPECT_EQ(parts.back().last, extent);
  }
}

TEST(EvenParts, LeaveNoThinOneOver) {
  EXPECT_EQ(even_parts({0, 2080}, 2048, 16), (Parts{{0, 1040}, {1040, 2080}}));
  EXPECT_EQ(even_parts({32, 64}, 2048, 16), (Parts{{32, 64}}));
  EXPECT_TRUE(even_parts({5, 5}, 10, 16).empty());
  for (std::int64_t size = 1; size < 300; ++size)
    for (const std::int64_t most : {16, 40, 100}) {
      const auto parts = even_parts({16, 16 + size}, most, 16);
      EXPECT_EQ(parts.front().first, 16);
      EXPECT_EQ(parts.back().last, 16 + size);
      for (const Interval& part : parts) EXPECT_LE(part.size(), most);
    }
}

}  // namespace
}  // namespace tessera::dist
