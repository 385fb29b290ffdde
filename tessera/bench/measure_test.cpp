// SPDX-License-Identifier: Apache-2.0
// Measuring rungs that misbehave, on the processors and on a fake device, whose clock, power and times are
// set by each test.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/bench/rotation.hpp"
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
// True: the rung does not write its output, in timed runs.
bool idle = false;
void idles(const Buffers& b) {
  if (!idle) b.compute();
}
// Computes once for each length, and then always returns that result.
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

TEST_P(Measured, AttributesAnOutOfBoundsWriteToItsVariant) {
  const auto rows = measure({good, writes_behind, writes_before, good});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].guard_violation, "a write outside C: 4 bytes, from 12 bytes behind its end");
  EXPECT_EQ(rows[2].guard_violation, "a write outside C: 4 bytes, from 8 bytes before its start");
  for (const std::size_t i : {0u, 3u}) {
    EXPECT_EQ(rows[i].guard_violation, "");
    EXPECT_EQ(rows[i].verified, Verified::ok) << rows[i].finding;
    EXPECT_EQ(rows[i].seconds.size(), 6u);
  }
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(rows[i].verified, Verified::wrong);
    EXPECT_FALSE(rows[i].counts());
    EXPECT_NE(rows[i].finding.find("outside C"), std::string::npos);
  }
}

TEST_P(Measured, MeasuresAnAcceptingChoiceInsteadOfARefusingOne) {
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

TEST_P(Measured, DetectsAndRestoresAChangedInput) {
  const auto rows = measure({changes_its_input, good});
  EXPECT_EQ(rows[0].guard_violation, "a write to the input A");
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_EQ(rows[1].verified, Verified::ok) << rows[1].finding;
  EXPECT_EQ(rows[1].guard_violation, "");
}

TEST_P(Measured, FillsTheGuardsWithNaN) {
  const auto rows = measure({reads_behind});
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_EQ(rows[0].guard_violation, "");
}

TEST_P(Measured, AnOldResultDoesNotPassWithFreshInputs) {
  const auto rows = measure({remembers, good});
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_NE(rows[0].finding.find("that no timed run had seen"), std::string::npos) << rows[0].finding;
  EXPECT_EQ(rows[1].verified, Verified::ok);
  EXPECT_NE(rows[1].method.find("fresh inputs"), std::string::npos);
}

// The output of an earlier run must not pass for the result of the timed runs.
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

TEST_P(Measured, ChecksGuardsWithoutVerification) {
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
  EXPECT_EQ(measure({good}, {.effort = {.min_clock = 0}})[0].throttled, 0u);
}

TEST_P(MeasuredOnGpu, SlowSamplesFromBeforeTheFullClockWasSeenAreDroppedToo) {
  int sample = 0;
  gpu_->clock = [&] { return ++sample <= 2 ? 500.0 : 1900.0; };
  const Row row = measure({good})[0];
  EXPECT_EQ(row.throttled, 2u);
  EXPECT_EQ(row.seconds.size(), 4u);
}

TEST_P(MeasuredOnGpu, AllThrottledSamplesGiveNoTime) {
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

// Each attempt takes seconds, which would dominate a sweep over a variant's tunings.
TEST_P(MeasuredOnGpu, StopsHidingLaunchesAfterTwoTimeouts) {
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

// A graph is made once, so a first run that compiled must not determine its length.
TEST_P(MeasuredOnGpu, GraphLengthIsIndependentOfTheFirstRun) {
  const int launches = measure({good}, {.graph = true})[0].launches;
  EXPECT_GT(launches, 1);
  gpu_->first_seconds = 0.3;
  EXPECT_EQ(measure({good}, {.graph = true})[0].launches, launches);
}

TEST_P(MeasuredOnGpu, LaunchesDirectlyWithoutCapture) {
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

TEST_P(MeasuredOnGpu, UnknownPowerIsNull) {
  Row row = measure({good})[0];
  EXPECT_TRUE(row.powers_w.empty());
  row.powers_w = {std::nullopt, 200.0, 210.0, 220.0, std::nullopt, std::nullopt};
  const auto json = to_json(row);
  EXPECT_EQ(json["powers_w"].dump(), "[null,200.0,210.0,220.0,null,null]");
  EXPECT_EQ(json["power_w"], 210);
  EXPECT_EQ(recalled(json, row).powers_w, row.powers_w);
}

TEST_P(MeasuredOnGpu, KeepsRowsOfAnEarlierSession) {
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
  // The earlier session lacks the sustained row, so it is measured, and the file keeps both.
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

// --- Estimates for variants that report a time from a formula ---

namespace {

// Squares n elements, each of which counts as one flop; reports time(n, number of earlier runs).
class Timed {
 public:
  explicit Timed(std::function<double(double n, int before)> time) : time_(std::move(time)) {
    operation_.name = "squares";
    operation_.signature.parameters = {parameter::input("x", {"n"}, ""), parameter::output("y", {"n"}, "")};
    operation_.elements = {Element::f32};
    operation_.output = "y";
    operation_.flops = flops;
    Choice choice;
    choice.prepare[Element::f32] = without_plan([this](const Arguments& arguments, const Tuning&, Run& run) {
      largest_ = std::max(largest_, arguments.dim("n"));
      run.reported_seconds = time_(flops(arguments), runs_++);
    });
    variant_.name = "timed";
    variant_.choices = {choice};
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  double estimate(std::int64_t n, double limit) {
    const Plan plan{&variant_, &variant_.choices[0], {}, host_device(Where::cpu)};
    return estimate_seconds(operation_, Element::f32, {.dims = {{"n", n}}}, plan, static_cast<double>(n),
                            limit)
        .value_or(-1);
  }
  std::int64_t largest() const { return largest_; }

 private:
  static double flops(const Arguments& arguments) { return static_cast<double>(arguments.dim("n")); }

  std::function<double(double, int)> time_;
  Operation operation_;
  Variant variant_;
  int runs_ = 0;
  std::int64_t largest_ = 0;
};

constexpr std::int64_t full = 1 << 20;

TEST(Estimate, GrowsWithTheWork) {
  Timed timed([](double n, int) { return 1e-6 * n; });
  EXPECT_NEAR(timed.estimate(full, 0.1), 1e-6 * full, 1e-6);
  EXPECT_LE(timed.largest(), 1 << 15) << "it took longer than it had to";
}

TEST(Estimate, DoesNotMultiplyTheOverheadOfACall) {
  Timed timed([](double n, int) { return 2e-3 + 1e-9 * n; });
  for (const double limit : {0.02, 0.1, 10.0}) EXPECT_LT(timed.estimate(full, limit), limit);
}

TEST(Estimate, AFirstCallThatCompilesIsNotMultiplied) {
  Timed timed([](double n, int before) { return (before == 0 ? 0.3 : 0.0) + 1e-8 * n; });
  EXPECT_LT(timed.estimate(full, 0.1), 0.02);
}

TEST(Estimate, AFirstCallThatCompilesBeyondTheLimitIsNotMultiplied) {
  Timed timed([](double n, int before) { return (before == 0 ? 2.5 : 0.0) + 1e-8 * n; });
  EXPECT_LT(timed.estimate(full, 2), 0.02);
}

TEST(Estimate, ATooSlowVariantIsRunOnce) {
  int runs = 0;
  Timed timed([&runs](double, int) { return ++runs, 20.0; });
  EXPECT_GT(timed.estimate(full, 10), 1e5);
  EXPECT_EQ(runs, 1);
}

// A sum over a range of integers has no array that gives its size.
TEST(Estimate, AcceptsIntegerParametersAsSizes) {
  Operation operation;
  operation.signature.parameters = {parameter::optional_integer("n", 1, std::int64_t{1} << 40, ""),
                                    parameter::output("sum", {}, "")};
  operation.elements = {Element::f64};
  operation.flops = [](const Arguments& arguments) { return static_cast<double>(arguments.integer("n")); };
  std::int64_t largest = 0;
  Choice choice;
  choice.prepare[Element::f64] =
      without_plan([&largest](const Arguments& arguments, const Tuning&, tessera::Run& run) {
        largest = std::max(largest, arguments.integer("n"));
        run.reported_seconds = 1e-6 * static_cast<double>(arguments.integer("n"));
      });
  Variant variant;
  variant.name = "counted";
  variant.choices = {choice};
  const Plan plan{&variant, &variant.choices[0], {}, host_device(Where::cpu)};
  const auto estimate =
      estimate_seconds(operation, Element::f64, {.dims = {}, .words = {{"n", "1024*1024"}}}, plan, full, 0.1);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(*estimate, 1e-6 * full, 1e-6);
  EXPECT_LE(largest, 1 << 15);
}

}  // namespace

// --- Sets of inputs that launches cycle through ---

namespace {

using namespace made_up;

constexpr std::int64_t n = 100, set_size = 2 * n * 4;  // bytes of A and C

TEST(Sets, AreTogetherTwoAndAHalfCachesAtLeast) {
  constexpr int most = 100;
  for (const std::int64_t cache : {1000, 4096, 1 << 20, 60 << 20})
    for (const std::int64_t bytes : {7, 800, 24 << 10, 1 << 20, 50 << 20, 150 << 20, 200 << 20}) {
      const std::int64_t sets = sets_beyond(cache, bytes, most);
      EXPECT_GE(2 * sets * bytes, 5 * cache) << cache << " " << bytes;
      // Consecutive sets differ in number and contents; samples end at sets at which others begin.
      if (sets > 1) {
        EXPECT_EQ(sets % (sets <= most ? 2 : most), 0) << sets;
      }
      EXPECT_LT(2 * (sets - most) * bytes, 5 * cache) << "more than are needed";
    }
  EXPECT_EQ(sets_beyond(1 << 20, 0, most), 1) << "nothing to lie in a cache";
}

std::vector<const float*> launched;  // A of each launch that is timed
const float* last_used = nullptr;

void notes(const Buffers& b) {
  if (made_up_gpu().timing) launched.push_back(b.a);
  b.compute();
}
// Reads the input of the previous launch through a stored address.
void keeps_an_address(const Buffers& b) {
  if (!made_up_gpu().timing) return b.compute();
  for (std::int64_t i = 0; i < b.n; ++i) b.c[i] = 2 * (last_used != nullptr ? last_used : b.a)[i];
  last_used = b.a;
}
// A trial's own arrays have the contents of even-numbered sets.
float first_of_even = 0;
void leaves_even_ones(const Buffers& b) {
  if (!made_up_gpu().timing) first_of_even = b.a[0];
  if (!made_up_gpu().timing || b.a[0] != first_of_even) b.compute();
}
void leaves_odd_ones(const Buffers& b) {
  if (!made_up_gpu().timing) first_of_even = b.a[0];
  if (!made_up_gpu().timing || b.a[0] == first_of_even) b.compute();
}
void spoils_its_input(const Buffers& b) {
  b.compute();
  if (made_up_gpu().timing) b.a[3] += 1;
}
void writes_behind_when_timed(const Buffers& b) {
  b.compute();
  if (made_up_gpu().timing) b.c[b.n] = 1;
}

class Rotated : public testing::Test {
 protected:
  void SetUp() override {
    gpu_.seconds_of_a_run = 1e-4;
    gpu_.waits = false;
    gpu_.clock = gpu_.power = nullptr;
    gpu_.graphs = gpu_.graph_launches = 0;
    gpu_.set_cache(4096);
    launched.clear();
    last_used = nullptr;
  }
  void TearDown() override {
    gpu_.set_cache(0);
    gpu_.set_memory(std::int64_t{1} << 30);
  }

  std::vector<Row> measure(const std::vector<Body>& bodies, Measuring measuring = {},
                           Where where = Where::cuda) {
    rungs_.clear();
    for (const Body body : bodies) rungs_.push_back(rung("rung", where, body));
    std::vector<Candidate> candidates;
    for (Variant& v : rungs_) candidates.push_back({.plan = {&v, &v.choices[0], {}, device(where)}});
    measuring.effort.samples = 6;
    measuring.ceilings = false;
    measuring.rotate = true;
    return bench::measure(toy_, Element::f32, {.dims = {{"n", n}}}, candidates, measuring);
  }
  Device device(Where where) {
    Device out = find_backend(where)->devices()[0];
    out.cache_bytes = gpu_.devices()[0].cache_bytes;
    return out;
  }

  const Operation toy_ = toy();
  std::vector<Variant> rungs_;
  FakeGpu& gpu_ = made_up_gpu();
};

// Expects that all other sets are launched between two launches of a set.
void expect_a_round(const std::vector<const float*>& used, std::size_t sets) {
  ASSERT_EQ(std::set(used.begin(), used.end()).size(), sets);
  std::map<const float*, std::size_t> last;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (last.contains(used[i])) {
      EXPECT_EQ(i - last[used[i]], sets) << i;
    }
    last[used[i]] = i;
  }
}

TEST_F(Rotated, ReusesASetOnlyAfterAllOthers) {
  ASSERT_EQ(sets_beyond(4096, set_size, max_launches), 14);
  for (const Where where : {Where::cuda, Where::cpu}) {
    const auto rows = measure({notes, notes}, {.sustained_seconds = 0.01}, where);
    ASSERT_EQ(rows.size(), 4u);
    if (where == Where::cuda) expect_a_round(launched, 14);
    for (const Row& row : rows) {
      EXPECT_EQ(row.verified, Verified::ok) << row.finding;
      EXPECT_EQ(row.sets, 14);
      EXPECT_EQ(row.launches % 14, 0) << "a sample is of whole rounds";
      EXPECT_FALSE(row.round_trip);
    }
    EXPECT_NE(rows[0].method.find("of two sets of inputs"), std::string::npos) << rows[0].method;
  }
}

TEST_F(Rotated, GraphsRotateSets) {
  const Row row = measure({notes}, {.graph = true})[0];
  EXPECT_FALSE(row.exposed);
  EXPECT_EQ(gpu_.graphs, 1) << "of a whole round";
  expect_a_round(launched, 14);
  EXPECT_EQ(row.verified, Verified::ok) << row.finding;
}

// If there are more sets than launches in a sample, samples use parts of the rotation, with a graph for each.
TEST_F(Rotated, SamplesMayBeShorterThanARotation) {
  gpu_.set_cache(100'000);
  const std::int64_t sets = sets_beyond(100'000, set_size, max_launches);
  ASSERT_EQ(sets, 400);
  for (const bool graph : {false, true}) {
    launched.clear();
    gpu_.graphs = 0;
    const Row row = measure({notes}, {.graph = graph})[0];
    EXPECT_EQ(row.sets, sets);
    EXPECT_EQ(row.launches, 100);
    EXPECT_EQ(row.verified, Verified::ok) << row.finding;
    EXPECT_EQ(gpu_.graphs, graph ? 4 : 0);
    EXPECT_EQ(launched.size(), 600u) << "six samples";
    expect_a_round(launched, 400);
  }
}

TEST_F(Rotated, DetectsVariantsThatKeepOldAddresses) {
  EXPECT_EQ(measure({keeps_an_address})[0].verified, Verified::wrong);
}

TEST_F(Rotated, VerifiesTwoSets) {
  for (const Body body : {leaves_even_ones, leaves_odd_ones})
    EXPECT_EQ(measure({body})[0].verified, Verified::wrong);
}

TEST_F(Rotated, DetectsAndRestoresGuardViolations) {
  for (const auto& [body, what] :
       {std::pair<Body, std::string>{spoils_its_input, "a write to the input A, in one of the sets"},
        std::pair<Body, std::string>{writes_behind_when_timed,
                                     "a write outside C, behind its end, in one of the sets"}}) {
    const auto rows = measure({body, notes});
    EXPECT_EQ(rows[0].guard_violation.find(what), 0u) << rows[0].guard_violation;
    EXPECT_EQ(rows[0].verified, Verified::wrong);
    EXPECT_EQ(rows[1].verified, Verified::ok) << rows[1].finding;
    EXPECT_EQ(rows[1].guard_violation, "");
  }
}

TEST_F(Rotated, OneSetThatExceedsTheCacheIsEnough) {
  gpu_.set_cache(set_size * 2 / 5);
  const Row row = measure({notes})[0];
  EXPECT_EQ(row.sets, 1);
  EXPECT_EQ(to_json(row)["sets"], 1);
  EXPECT_EQ(row.verified, Verified::ok) << row.finding;
  gpu_.set_cache(set_size * 2 / 5 + 1);
  EXPECT_EQ(measure({notes})[0].sets, 2);
}

TEST_F(Rotated, ReportsWhyItCannotRotate) {
  gpu_.set_cache(0);
  EXPECT_NE(measure({notes})[0].reason.value_or("").find("cache is not known"), std::string::npos);
  gpu_.set_cache(4096);
  gpu_.set_memory(60'000);  // 14 sets of 1536 bytes, gaps included, exceed a quarter of it
  EXPECT_NE(measure({notes})[0].reason.value_or("").find("more than a quarter"), std::string::npos);
  EXPECT_TRUE(launched.empty());
}

TEST_F(Rotated, TheNumberOfSetsIsKept) {
  const Row row = measure({notes})[0];
  Row blank = row;
  blank.sets = 0;
  EXPECT_EQ(recalled(to_json(row), blank).sets, 14);
}

}  // namespace

}  // namespace tessera::bench
