// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include "tessera/bench/result.hpp"
#include "tessera/bench/sample.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::bench {
namespace {

TEST(Statistics, QuartilesInterpolate) {
  const Summary s = summarize({4, 1, 3, 2});
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.q1, 1.75);
  EXPECT_DOUBLE_EQ(s.q3, 3.25);
  EXPECT_DOUBLE_EQ(s.minimum, 1);
  EXPECT_DOUBLE_EQ(s.spread(), 0.3);
  EXPECT_EQ(summarize({7}).median, 7);
  EXPECT_THROW(summarize({}), Error);
}

TEST(Statistics, OneOutlierMovesNoMedian) { EXPECT_DOUBLE_EQ(summarize({1, 1, 1, 1, 1000}).median, 1); }

TEST(Statistics, ThinningKeepsTheEnds) {
  std::vector<double> all(1000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i);
  const auto few = thinned(all, 200);
  ASSERT_EQ(few.size(), 200u);
  EXPECT_EQ(few.front(), 0);
  EXPECT_EQ(few.back(), 999);
  EXPECT_EQ(thinned(few, 200), few);
}

TEST(Sampling, InterleavesCandidatesAndReportsFinishedOnes) {
  std::string order;
  const auto says = [&order](char c) {
    return SampledCandidate{[&order, c] { return order += c, Sample{1.0}; },
                            [&order, c] { order += static_cast<char>(c - 'a' + 'A'); }};
  };
  const auto samples = interleave({says('a'), says('b')}, {.seconds = 100, .samples = 3});
  EXPECT_EQ(order, "ababaAbB");
  EXPECT_EQ(samples[0].samples.size(), 3u);
  EXPECT_EQ(samples[1].samples.size(), 3u);
}

TEST(Sampling, ASlowOneGetsOneSample) {
  const auto samples = interleave({{[] { return Sample{1.0}; }, {}}}, {.seconds = 0, .samples = 5});
  EXPECT_EQ(samples[0].samples.size(), 1u);
}

TEST(Sampling, AnInterruptKeepsTheSamplesSoFar) {
  int taken = 0;
  const auto samples = interleave({{[&] { return ++taken, Sample{1.0}; }, {}}},
                                  {.seconds = 100, .samples = 50}, [&] { return taken == 3; });
  EXPECT_EQ(samples[0].samples.size(), 3u);
}

TEST(Sampling, RestsBeforeEachSampleAndDoesNotCountThat) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  // 20 ms of work are allowed; pauses of 30 ms do not count.
  const auto taken =
      interleave({{[] { return Sample{1e-6}; }, {}}}, {.seconds = 0.02, .samples = 4, .pause = 0.03});
  EXPECT_EQ(taken[0].samples.size(), 4u);
  EXPECT_GE(std::chrono::duration<double>(Clock::now() - begun).count(), 0.12);
}

std::size_t samples_until_settled(const std::function<double(int)>& time) {
  int taken = 0;
  const Effort effort{.seconds = 100, .enough_seconds = 0};
  return interleave({{[&] { return Sample{time(taken++)}; }, {}}}, effort)[0].samples.size();
}

TEST(Sampling, StopsAtASmallSpread) {
  EXPECT_EQ(samples_until_settled([](int) { return 1.0; }), Effort{}.fewest);
  EXPECT_EQ(samples_until_settled([](int i) { return 1 + 0.004 * (i % 2); }), Effort{}.fewest);
}

TEST(Sampling, StopsWhenMoreSamplesWouldNotMakeTheSpreadSmaller) {
  const std::size_t taken = samples_until_settled([](int i) { return 1 + 0.1 * (i % 5); });
  EXPECT_GE(taken, 24u);
  EXPECT_LT(taken, 60u);
}

TEST(Sampling, ContinuesWhileTheSpreadChanges) {
  EXPECT_EQ(samples_until_settled([](int i) { return std::pow(1.1, i); }), Effort{}.most);
}

TEST(Sampling, ClocksAreAsManyAsSamplesOrNone) {
  EXPECT_EQ(clocks_of({{1, 1000.0}, {1, 1001.0}}), (std::vector<double>{1000, 1001}));
  EXPECT_TRUE(clocks_of({{1, 1000.0}, {1}}).empty());
}

// The meter is updated every 0.1 s, and turns take 0.01 s.
TEST(Power, DiscardsReadingsOfOtherCandidates) {
  PowerMeter meter;
  double now = 0;
  for (int turn = 0; turn < 200; ++turn) {
    meter.begin(now);
    now += 0.01;
    EXPECT_FALSE(meter.read(300 + std::floor(now / 0.1), now)) << turn;
  }
}

TEST(Power, IsKnownAfterAFullMeterWindow) {
  PowerMeter meter;
  meter.begin(0);
  EXPECT_FALSE(meter.read(100, 0.05));
  meter.begin(1);
  EXPECT_FALSE(meter.read(100, 1.05)) << "the one from before";
  EXPECT_FALSE(meter.read(200, 1.15)) << "of a window that began before";
  EXPECT_EQ(meter.read(250, 1.25), 250);
  EXPECT_EQ(meter.read(250, 1.26), 250) << "not renewed since, and still its own";
  meter.begin(2);
  EXPECT_FALSE(meter.read(250, 9)) << "a meter that stands still tells nothing";
  EXPECT_FALSE(meter.read(std::nullopt, 9.5));
  EXPECT_EQ(meter.read(260, 9.6), 260);
}

TEST(Power, IsUnknownForShortInterleavedSamples) {
  double watts = 100;
  const auto runs = [&watts](double seconds) {
    return SampledCandidate{[&watts, seconds] {
                              std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                              return Sample{.seconds = seconds, .power_w = ++watts};
                            },
                            {}};
  };
  const auto taken = interleave({runs(0.001), runs(0.21)}, {.seconds = 100, .samples = 2});
  EXPECT_TRUE(powers_of(taken[0].samples).empty());
  EXPECT_EQ(powers_of(taken[1].samples), (std::vector<std::optional<double>>{102, 104}));
}

class Ratios : public testing::Test {
 protected:
  Row row(const Variant& variant, double seconds, Verified verified = Verified::ok) const {
    Row out;
    out.variant = &variant;
    out.verified = verified;
    out.flops = 1e9;
    if (seconds > 0) out.seconds.assign(5, seconds);
    return out;
  }
  static Variant variant(const char* name, int place, bool baseline = false) {
    Variant out;
    out.ladder = "ladder";
    out.name = name;
    out.place = place;
    out.baseline = baseline;
    return out;
  }
  const Variant library = variant("library", 0, true), first = variant("first", 1),
                second = variant("second", 2), third = variant("third", 3);
};

TEST_F(Ratios, AreToTheSerialRungTheOneBeforeAndTheBaseline) {
  std::vector<Row> rows{row(library, 1), row(first, 16), row(second, 8), row(second, 4), row(third, 2)};
  rows[1].serial = true;
  fill_ratios(rows, "");
  EXPECT_EQ(rows[4].ratio_serial, 8);
  EXPECT_EQ(rows[4].ratio_previous, 2);  // over the faster choice of the second
  EXPECT_EQ(rows[4].ratio_baseline, 0.5);
  EXPECT_EQ(rows[2].ratio_previous, 2);
  EXPECT_EQ(rows[3].ratio_previous, 4);
  EXPECT_FALSE(rows[1].ratio_previous);
  EXPECT_FALSE(rows[0].ratio_previous);
  fill_ratios(rows, "second");
  EXPECT_EQ(rows[4].ratio_baseline, 2);
}

TEST_F(Ratios, WhereALadderBranchesTheRungNamesTheOneThatItChanges) {
  Variant branch = variant("branch", 3), fresh = variant("fresh", 4);
  branch.parent = "first";
  fresh.parent = "";
  std::vector<Row> rows{row(first, 16), row(second, 8), row(branch, 4), row(fresh, 2)};
  fill_ratios(rows, "");
  EXPECT_EQ(rows[1].previous, "first");
  EXPECT_EQ(rows[2].previous, "first");
  EXPECT_EQ(rows[2].ratio_previous, 4);
  EXPECT_FALSE(rows[3].ratio_previous);
}

TEST_F(Ratios, AreNoNumbersWhereCompareGivesNoVerdict) {
  std::vector<Row> rows{row(library, 1), row(first, 4), row(second, 2), row(third, 3)};
  rows[1].serial = true;
  rows[2].seconds = {1, 2, 2, 9, 9};
  rows[3].seconds = {3};
  fill_ratios(rows, "");
  EXPECT_EQ(rows[1].ratio_serial, 1);
  for (const std::size_t open : {2u, 3u}) {
    EXPECT_TRUE(std::isnan(rows[open].ratio_serial.value()));
    EXPECT_TRUE(std::isnan(rows[open].ratio_previous.value()));
  }
  rows[3].seconds = {0.1};  // one sample suffices for a ratio beyond ten
  fill_ratios(rows, "");
  EXPECT_EQ(rows[3].ratio_serial, 40);
}

TEST_F(Ratios, OmitTheTimeOfAWrongResult) {
  std::vector<Row> rows{row(first, 16), row(second, 1, Verified::wrong), row(third, 4), row(library, 0)};
  rows[0].serial = true;
  fill_ratios(rows, "");
  EXPECT_FALSE(rows[1].ratio_serial);
  EXPECT_FALSE(rows[1].gflops());
  EXPECT_EQ(rows[2].ratio_previous, 4);  // over the last one that counts
  EXPECT_FALSE(rows[2].ratio_baseline);
}

TEST_F(Ratios, JsonHasNoNaN) {
  Session session;
  session.rows = {row(first, 2), row(second, 0)};
  session.rows[0].error_over_bound = std::numeric_limits<double>::infinity();
  session.rows[1].reason = "too slow";
  const auto json = to_json(session);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_TRUE(json["rows"][0]["error_over_bound"].is_null());
  EXPECT_EQ(json["rows"][0]["gflops"], 0.5);
  EXPECT_FALSE(json["rows"][1].contains("median"));
  EXPECT_TRUE(json["rows"][1]["gflops"].is_null());
  EXPECT_EQ(json["rows"][1]["reason"], "too slow");
}

}  // namespace
}  // namespace tessera::bench
