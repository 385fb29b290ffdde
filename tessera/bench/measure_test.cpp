// SPDX-License-Identifier: Apache-2.0
// Measuring against rungs that misbehave, on the processors and on a device made up for the purpose: its
// clock, its power and its times are what a test says.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <cmath>
#include <utility>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/result.hpp"
#include "tests/made_up_gpu.hpp"

namespace tessera::bench {
namespace {

using namespace made_up;

void good(const Buffers& b) { b.compute(); }
void writes_behind(const Buffers& b) {
  b.compute();
  b.c[b.n + 3] = 1;
}
void writes_before(const Buffers& b) {
  b.compute();
  b.c[-2] = 1;
}
void changes_its_input(const Buffers& b) {
  b.compute();
  b.a[1] += 1;
}
void reads_behind(const Buffers& b) {
  b.compute();
  b.c[0] = 2 * b.a[0] + 0 * b.a[b.n];
}
bool drew_power = false;
void draws_power(const Buffers& b) {
  b.compute();
  drew_power = true;
}
// Leaves what lies there when it should be timed.
bool idle = false;
void idles(const Buffers& b) {
  if (!idle) b.compute();
}
// Computes once for each length and gives that out for ever.
void remembers(const Buffers& b) {
  static std::map<std::int64_t, std::vector<float>> known;
  if (!known.contains(b.n)) {
    b.compute();
    known[b.n].assign(b.c, b.c + b.n);
  }
  std::ranges::copy(known[b.n], b.c);
}

class Measured : public testing::TestWithParam<Where> {
 protected:
  static void SetUpTestSuite() { gpu_ = &made_up_gpu(); }
  void SetUp() override {
    gpu_->seconds_of_a_run = 1e-3;
    gpu_->waits = false;
    gpu_->hidden = 0;
    gpu_->clock = gpu_->power = nullptr;
  }

  std::vector<Row> measure(std::vector<Body> bodies, Measuring measuring = {}) {
    rungs_.clear();
    for (const Body body : bodies) rungs_.push_back(rung("rung", GetParam(), body));
    std::vector<Candidate> candidates;
    for (Variant& v : rungs_)
      candidates.push_back({.plan = {&v, &v.choices[0], {}, find_backend(GetParam())->devices()[0]}});
    if (measuring.effort.samples == 0) measuring.effort.samples = 6;
    measuring.ceilings = false;
    return bench::measure(toy_, Element::f32, {.dims = {{"n", 100}}}, candidates, measuring);
  }

  const Operation toy_ = toy();
  std::vector<Variant> rungs_;
  static inline FakeGpu* gpu_ = nullptr;
};

TEST_P(Measured, AWriteOutsideIsFoundAndIsNobodyElsesFault) {
  const auto rows = measure({good, writes_behind, writes_before, good});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].harm, "a write outside C: 4 bytes, from 12 bytes behind its end");
  EXPECT_EQ(rows[2].harm, "a write outside C: 4 bytes, from 8 bytes before its start");
  for (const std::size_t i : {0u, 3u}) {
    EXPECT_EQ(rows[i].harm, "");
    EXPECT_EQ(rows[i].verified, Verified::ok) << rows[i].finding;
    EXPECT_EQ(rows[i].seconds.size(), 6u);
  }
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(rows[i].verified, Verified::wrong);
    EXPECT_FALSE(rows[i].counts());
    EXPECT_NE(rows[i].finding.find("outside C"), std::string::npos);
  }
}

TEST_P(Measured, AChoiceThatTakesTheProblemIsMeasuredInsteadOfOneThatRefuses) {
  Variant v = rung("rung", GetParam(), good);
  v.choices.push_back(v.choices[0]);
  v.choices[0].refuses = [](auto&&...) -> Reason { return "no"; };
  Candidate alone{.plan = {&v, &v.choices[0], {}, find_backend(GetParam())->devices()[0]}}, other = alone;
  other.instead = {{&v, &v.choices[1], {{"x", 2}}, alone.plan.device}};
  const auto rows =
      bench::measure(toy_, Element::f32, {.dims = {{"n", 100}}}, {alone, other}, {.ceilings = false});
  EXPECT_EQ(rows[0].reason, "no");
  EXPECT_EQ(rows[1].tuning, (Tuning{{"x", 2}}));
  EXPECT_EQ(rows[1].verified, Verified::ok);
}

TEST_P(Measured, AChangedInputIsFoundAndMended) {
  const auto rows = measure({changes_its_input, good});
  EXPECT_EQ(rows[0].harm, "a write to the input A");
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_EQ(rows[1].verified, Verified::ok) << rows[1].finding;
  EXPECT_EQ(rows[1].harm, "");
}

TEST_P(Measured, WhatLiesBehindABufferIsNaN) {
  const auto rows = measure({reads_behind});
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_EQ(rows[0].harm, "");
}

TEST_P(Measured, AnOldResultDoesNotPassWithFreshInputs) {
  const auto rows = measure({remembers, good});
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_NE(rows[0].finding.find("that no timed run had seen"), std::string::npos) << rows[0].finding;
  EXPECT_EQ(rows[1].verified, Verified::ok);
  EXPECT_NE(rows[1].method.find("fresh inputs"), std::string::npos);
}

// What an earlier run has left in the output must not pass for the result of the runs that were timed.
TEST_P(Measured, TheResultOfAnEarlierRunDoesNotPass) {
  const auto measured_idle = [&](const std::string& phase) {
    const auto rows = measure({idles}, {.sustained_seconds = 0.01, .progress = [&](const std::string& doing) {
                                          idle = doing.ends_with(": " + phase);
                                        }});
    idle = false;
    return rows;
  };
  EXPECT_EQ(measured_idle("timing")[0].verified, Verified::wrong);
  const auto rows = measured_idle("sustained");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].verified, Verified::ok) << rows[0].finding;
  EXPECT_EQ(rows[1].mode, Mode::sustained);
  EXPECT_EQ(rows[1].verified, Verified::wrong);
}

TEST_P(Measured, UncheckedIsUncheckedButHarmIsNot) {
  const auto rows = measure({remembers, writes_behind}, {.verify = false});
  EXPECT_EQ(rows[0].verified, Verified::unchecked);
  EXPECT_EQ(rows[1].verified, Verified::wrong);
}

TEST_P(Measured, ShortRunsFillASampleTogether) {
  gpu_->seconds_of_a_run = 1e-5;
  EXPECT_GT(measure({good})[0].launches, 1);
  EXPECT_EQ(measure({good}, {.cold = true})[0].launches, 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, Measured, testing::Values(Where::cpu, Where::cuda),
                         [](const auto& device) { return std::string(name_of(device.param)); });

using MeasuredOnGpu = Measured;

TEST_P(MeasuredOnGpu, ThrottledSamplesAreDroppedAndCounted) {
  int sample = 0;
  gpu_->clock = [&] { return ++sample % 3 == 0 ? 900.0 : 1900.0; };
  const Row row = measure({good})[0];
  EXPECT_EQ(row.seconds.size(), 6u);
  EXPECT_EQ(row.clocks_mhz, std::vector<double>(6, 1900));
  EXPECT_GE(row.throttled, 2u);
  EXPECT_DOUBLE_EQ(row.median(), 1e-3);
  sample = 0;
  EXPECT_EQ(measure({good}, {.effort = {.least_clock = 0}})[0].throttled, 0u);
}

TEST_P(MeasuredOnGpu, SlowSamplesFromBeforeTheFullClockWasSeenAreDroppedToo) {
  int sample = 0;
  gpu_->clock = [&] { return ++sample <= 2 ? 500.0 : 1900.0; };
  const Row row = measure({good})[0];
  EXPECT_EQ(row.throttled, 2u);
  EXPECT_EQ(row.seconds.size(), 4u);
}

TEST_P(MeasuredOnGpu, WhenAllAreThrottledThereIsNoTime) {
  gpu_->clock = [] { return std::exchange(drew_power, false) ? 400.0 : 1900.0; };
  const auto rows = measure({good, draws_power}, {.effort = {.seconds = 0.05}});
  EXPECT_FALSE(rows[0].seconds.empty());
  EXPECT_TRUE(rows[1].seconds.empty());
  EXPECT_GT(rows[1].throttled, 0u);
  ASSERT_TRUE(rows[1].reason);
  EXPECT_NE(rows[1].reason->find("clock below 60 %"), std::string::npos) << *rows[1].reason;
  EXPECT_FALSE(rows[1].gflops());
}

TEST_P(MeasuredOnGpu, ARunThatWaitsForTheDeviceIsTimedWithItsLaunches) {
  gpu_->waits = true;
  const Row row = measure({good})[0];
  EXPECT_TRUE(row.exposed);
  EXPECT_EQ(row.seconds.size(), 6u);
  EXPECT_EQ(gpu_->hidden, 1);  // tried once
}

// To try takes seconds: a sweep over a variant's tunings would take nothing else.
TEST_P(MeasuredOnGpu, WhatWaitedTwiceIsNotTriedAgain) {
  gpu_->waits = true;
  rungs_.assign(1, rung("rung", GetParam(), good));
  const Candidate candidate{
      .plan = {&rungs_[0], &rungs_[0].choices[0], {}, find_backend(GetParam())->devices()[0]}};
  Measuring measuring{.effort = {.samples = 3}, .ceilings = false};
  for (int again = 0; again < 2; ++again)
    for (const Row& row :
         bench::measure(toy_, Element::f32, {.dims = {{"n", 100}}}, {3, candidate}, measuring)) {
      EXPECT_TRUE(row.exposed);
      EXPECT_EQ(row.seconds.size(), 3u);
    }
  EXPECT_EQ(gpu_->hidden, 2);
}

TEST_P(MeasuredOnGpu, AProfilerSeesPlainLaunches) {
  bool estimated = false;
  const Row row = measure({good}, {.profile = true, .progress = [&](const std::string& doing) {
                                     estimated = estimated || doing.ends_with("estimating");
                                   }})[0];
  EXPECT_FALSE(estimated) << "it would see other sizes";
  EXPECT_EQ(gpu_->hidden, 0);
  EXPECT_TRUE(row.clocks_mhz.empty());
  EXPECT_FALSE(row.clock_mhz());
}

TEST_P(MeasuredOnGpu, AGraphIsMadeOnceAndLaunchedForEverySample) {
  gpu_->graphs = gpu_->graph_launches = 0;
  const Row row = measure({good}, {.graph = true})[0];
  EXPECT_EQ(gpu_->graphs, 1);
  EXPECT_EQ(gpu_->graph_launches, static_cast<int>(row.seconds.size()));
  EXPECT_FALSE(row.exposed);
  EXPECT_EQ(row.verified, Verified::ok);
}

// A graph is made once: its length must not be told by a first run that compiled.
TEST_P(MeasuredOnGpu, AGraphIsAsLongWhateverTheFirstRunTook) {
  const int launches = measure({good}, {.graph = true})[0].launches;
  EXPECT_GT(launches, 1);
  gpu_->first_seconds = 0.3;
  EXPECT_EQ(measure({good}, {.graph = true})[0].launches, launches);
}

TEST_P(MeasuredOnGpu, WhatCannotBeNotedIsLaunchedAsItIs) {
  gpu_->waits = true;
  gpu_->graphs = 0;
  const Row row = measure({good}, {.graph = true})[0];
  EXPECT_EQ(gpu_->graphs, 0);
  EXPECT_TRUE(row.exposed);
  EXPECT_FALSE(row.seconds.empty());
}

TEST_P(MeasuredOnGpu, SustainedIsARowOfItsOwnWithTheEnergyOfOneRun) {
  gpu_->seconds_of_a_run = 2e-4;
  int readings = 0;
  gpu_->power = [&] { return ++readings < 20 ? 120.0 + readings : 300.0; };
  const auto rows = measure({good, good}, {.sustained_seconds = 1.05});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].mode, Mode::burst);
  EXPECT_FALSE(rows[0].joules);
  EXPECT_EQ(rows[2].mode, Mode::sustained);
  EXPECT_EQ(rows[2].verified, Verified::ok);
  ASSERT_TRUE(rows[2].joules);
  EXPECT_NEAR(*rows[2].joules, 300 * 2e-4, 1e-9);
  EXPECT_NEAR(*rows[2].picojoules_per_flop(), 300 * 2e-4 / 100 * 1e12, 1e3);
  EXPECT_DOUBLE_EQ(rows[2].median(), 2e-4);
  EXPECT_EQ(rows[2].power_w(), 300);
  EXPECT_FALSE(rows[0].power_w()) << "the meter was not renewed within a sample";
  EXPECT_FALSE(rows[3].power_w()) << "it showed the same as before";
  EXPECT_TRUE(to_json(rows[0])["power_w"].is_null());
}

TEST_P(MeasuredOnGpu, PowersThatAreNotKnownAreNull) {
  Row row = measure({good})[0];
  EXPECT_TRUE(row.powers_w.empty());
  row.powers_w = {std::nullopt, 200.0, 210.0, 220.0, std::nullopt, std::nullopt};
  const auto json = to_json(row);
  EXPECT_EQ(json["powers_w"].dump(), "[null,200.0,210.0,220.0,null,null]");
  EXPECT_EQ(json["power_w"], 210);
  EXPECT_EQ(recalled(json, row).powers_w, row.powers_w);
}

TEST_P(MeasuredOnGpu, WhatAnEarlierSessionMeasuredIsKept) {
  Session session;
  session.operation = "toy";
  session.date = "2030-01-01T00:00:00Z";
  session.rows = measure({good});
  session.rows[0].ceilings = {};
  const auto json = to_json(session);
  Session next = session;
  next.date = "2030-01-02T00:00:00Z";
  const Earlier earlier(json, "it", next);
  const int before = runs;
  const auto rows = measure({good}, {.known = [&](const Row& blank) { return earlier.find(blank); }});
  EXPECT_EQ(runs, before);
  EXPECT_EQ(rows[0].seconds, session.rows[0].seconds);
  EXPECT_EQ(rows[0].verified, Verified::ok);
  EXPECT_EQ(rows[0].kept_from, session.date);
  // It never saw this one: it is measured, and the file keeps both.
  const auto other = measure(
      {good}, {.sustained_seconds = 0.01, .known = [&](const Row& blank) { return earlier.find(blank); }});
  EXPECT_GT(runs, before);
  next.rows = {other[1]};
  EXPECT_EQ(earlier.merged(to_json(next))["rows"].size(), 2u);
  next.rows = rows;
  EXPECT_EQ(earlier.merged(to_json(next))["rows"].size(), 1u);
  for (auto change :
       {+[](Session& s) { s.seed = 9; }, +[](Session& s) { s.caches = "cold"; },
        +[](Session& s) { s.launches = "graph"; }, +[](Session& s) { s.operation = "other"; }}) {
    Session unlike = session;
    change(unlike);
    EXPECT_THROW(Earlier(json, "it", unlike), Error);
  }
}

TEST_P(MeasuredOnGpu, AWrongRowIsMeasuredAgain) {
  Session session;
  session.rows = measure({good});
  session.rows[0].verified = Verified::wrong;
  const Earlier earlier(to_json(session), "it", session);
  EXPECT_FALSE(earlier.find(session.rows[0]));
}

INSTANTIATE_TEST_SUITE_P(MadeUp, MeasuredOnGpu, testing::Values(Where::cuda));

}  // namespace
}  // namespace tessera::bench
