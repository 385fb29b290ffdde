// SPDX-License-Identifier: Apache-2.0
// Verdicts on recorded times: faster, slower or neither.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include "tessera/bench/compare.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::bench {
namespace {

using Json = nlohmann::ordered_json;

// Makes samples around a centre: minimum 1 % below, upper quartile `width` above.
Record record(double centre, double width = 0.002, double mhz = 0) {
  Record out;
  out.problem = "m=4";
  out.element = "f32";
  out.variant = "gpu/rung";
  out.mode = "burst";
  out.device = "cuda:0";
  out.device_name = "a GPU";
  for (const double part : {-width, -width / 2, 0.0, 0.0, width / 2, width, width})
    out.seconds.push_back(centre * (1 + part));
  if (mhz > 0) out.clocks_mhz.assign(out.seconds.size(), mhz);
  out.verified = "ok";
  return out;
}

Document document(std::vector<Record> records) {
  Document out;
  out.operation = "toy";
  out.processor = "a processor";
  out.drivers = {{"a GPU", "1", ""}};
  out.records = std::move(records);
  return out;
}

TEST(Judge, IgnoresADifferenceBelowTheThreshold) {
  EXPECT_EQ(judge(record(1), record(1.004)).change, Change::same);
  EXPECT_EQ(judge(record(1), record(0.996)).change, Change::same);
  EXPECT_EQ(judge(record(1), record(1.004), {.threshold = 0.001}).change, Change::slower);
}

TEST(Judge, DecidesByDisjointIntervals) {
  const Pair slower = judge(record(1), record(1.02)), faster = judge(record(1), record(0.9));
  EXPECT_EQ(slower.change, Change::slower);
  EXPECT_EQ(faster.change, Change::faster);
  EXPECT_NEAR(*faster.times_faster, 1 / 0.9, 1e-12);
  EXPECT_FALSE(faster.times_fewer_cycles);
}

TEST(Judge, OverlappingIntervalsGiveNoVerdict) {
  const Pair noisy = judge(record(1, 0.1), record(1.05, 0.1));
  EXPECT_EQ(noisy.change, Change::ambiguous);
  EXPECT_FALSE(noisy.why.empty());
}

TEST(Judge, NoisyEqualMediansGiveNoVerdict) {
  EXPECT_EQ(judge(record(1, 0.1), record(1, 0.1)).change, Change::ambiguous);
  EXPECT_EQ(judge(record(1, 0.1), record(1, 0.1), {.threshold = 0.1}).change, Change::same);
}

TEST(Judge, FewSamplesGiveAVerdictOnALargeDifferenceOnly) {
  Record few = record(1.4);
  few.seconds.resize(4);
  EXPECT_EQ(judge(record(1), few).change, Change::ambiguous);
  EXPECT_EQ(judge(record(1), few, {.fewest = 4}).change, Change::slower);
  EXPECT_EQ(judge(record(0.5), few).change, Change::slower);
  few.seconds.resize(1);
  EXPECT_EQ(judge(record(0.5), few).change, Change::ambiguous) << "one sample shows no noise at all";
  EXPECT_EQ(judge(record(0.1), few).change, Change::slower);
}

TEST(Judge, RequiresConfirmationInCycles) {
  // The clock fell from 1980 to 1800 MHz and the time rose with it: the number of cycles is the same.
  const Pair cooled = judge(record(1, 0.002, 1980), record(1.1, 0.002, 1800));
  EXPECT_EQ(cooled.change, Change::ambiguous);
  EXPECT_NEAR(*cooled.times_fewer_cycles, 1, 1e-12);
  EXPECT_EQ(judge(record(1, 0.002, 1980), record(1.1, 0.002, 1980)).change, Change::slower);
  EXPECT_EQ(judge(record(1, 0.002, 1980), record(0.8, 0.002, 1900)).change, Change::faster);
  // The time fell, but the number of cycles rose.
  EXPECT_EQ(judge(record(1, 0.002, 1000), record(0.9, 0.002, 1500)).change, Change::ambiguous);
}

TEST(Judge, ABusyMachineGivesAVerdictBeyondWhatOthersMayCause) {
  const auto with = [](double centre, double load, const char* device = "cpu") {
    Record out = record(centre);
    out.device = device;
    out.other_load = load;
    return out;
  };
  EXPECT_EQ(judge(with(1, 0.01), with(1.1, 0.02)).change, Change::slower);
  for (const double ratio : {1.0, 1.2, 1.6}) {
    EXPECT_EQ(judge(with(1, 0.01), with(ratio, 0.4)).change, Change::ambiguous) << ratio;
    const Pair pair = judge(with(1, 0.4), with(1 / ratio, 0.01));
    EXPECT_EQ(pair.change, Change::ambiguous) << ratio;
    EXPECT_EQ(pair.why, "the machine was not quiet then: other programs took 40 % of its processors");
  }
  EXPECT_EQ(judge(with(1, 0.4), with(0.5, 0.01)).change, Change::faster);
  EXPECT_EQ(judge(with(1, 0.01), with(0.7, 0.4)).change, Change::faster) << "others can only lengthen it";
  EXPECT_EQ(judge(with(1, 0.4), with(1.2, 0.01)).change, Change::slower);
  // What disturbs both alike counts only as noise.
  EXPECT_EQ(judge(with(1, 0.9), with(0.5, 0.9)).change, Change::faster);
  EXPECT_EQ(judge(with(1, 0.9), with(0.999, 0.9)).change, Change::ambiguous);
  // Repeats differ by 1.5 in all, and the medians by 3.8.
  const auto drifting = [&](double centre) {
    Record out = with(centre, 0.4);
    out.seconds.clear();
    for (int i = 0; i < 40; ++i) out.seconds.push_back(centre * (i < 8 ? 1.5 : 0.999 + 1e-4 * (i % 9)));
    return out;
  };
  EXPECT_GT(between_repeats(drifting(1).seconds), 0.49);
  EXPECT_EQ(judge(drifting(3.8), drifting(1)).change, Change::faster);
  EXPECT_EQ(judge(drifting(1), drifting(3.8)).change, Change::slower);
  EXPECT_EQ(judge(drifting(1.5), drifting(1)).change, Change::ambiguous);
  EXPECT_EQ(judge(with(1, 0.4, "cuda:0"), with(1.1, 0.4, "cuda:0")).change, Change::slower)
      << "a GPU's time is its own";
}

TEST(Judge, ADifferenceBetweenRepeatsGivesNoVerdict) {
  // All repeats agree, except that the last is 4 % above the others.
  const auto drifting = [](double centre) {
    Record out = record(centre);
    out.seconds.clear();
    for (int i = 0; i < 40; ++i) out.seconds.push_back(centre * (i < 20 ? 1 + 1e-4 * (i % 3) : 1.001));
    return out;
  };
  Record before = drifting(1), now = drifting(1.03);
  EXPECT_LT(between_repeats(before.seconds), 0.002);
  EXPECT_EQ(judge(before, now).change, Change::slower);
  now.seconds.insert(now.seconds.end(), 10, 1.07);
  EXPECT_NEAR(between_repeats(now.seconds), 0.04, 0.002);
  const Pair pair = judge(before, now);
  EXPECT_EQ(pair.change, Change::ambiguous);
  EXPECT_EQ(pair.why.find("repeats of the same differ by "), 0u) << pair.why;
}

TEST(Judge, AMissingTimeGivesNoVerdict) {
  EXPECT_EQ(judge(record(0), record(0)).change, Change::ambiguous);
  Record wrong = record(0.5);
  wrong.verified = "wrong";
  EXPECT_EQ(judge(record(1), wrong).change, Change::wrong);
}

TEST(Compare, ReportsRowsMissingOnEitherSide) {
  Record other = record(1), silent = record(1), added = record(1);
  other.variant = "gpu/other";
  silent.variant = added.variant = "gpu/new";
  silent.seconds.clear();
  silent.reason = "needs a GPU";
  const Document before = document({record(1), other, silent}), now = document({added, record(1)});
  const auto pairs = compare(before, now);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].change, Change::added);
  EXPECT_EQ(pairs[0].why, "needs a GPU");
  EXPECT_EQ(pairs[1].change, Change::same);
  EXPECT_EQ(pairs[2].change, Change::gone);
  EXPECT_EQ(pairs[2].before->variant, "gpu/other");
}

TEST(Compare, EveryPartOfTheKeyCounts) {
  for (auto change : {+[](Record& r) { r.problem = "m=5"; }, +[](Record& r) { r.element = "f64"; },
                      +[](Record& r) { r.tuning = "x=1"; }, +[](Record& r) { r.mode = "sustained"; },
                      +[](Record& r) { r.device_name = "b GPU"; }, +[](Record& r) { r.threads = 9; }}) {
    Record other = record(1);
    change(other);
    EXPECT_EQ(compare(document({record(1)}), document({other})).size(), 2u);
  }
  Record second_gpu = record(1);
  second_gpu.device = "cuda:1";
  EXPECT_EQ(compare(document({record(1)}), document({second_gpu})).size(), 1u);
}

TEST(Compare, RefusesOtherMachinesAndOtherData) {
  const Document one = document({record(1)});
  EXPECT_FALSE(incomparable(one, one));
  for (auto change :
       {+[](Document& d) { d.processor = "b processor"; }, +[](Document& d) { d.operation = "b"; },
        +[](Document& d) {
          d.drivers = {{"a GPU", "2", ""}};
        },
        +[](Document& d) {
          d.drivers = {{"b GPU", "1", ""}};
        },
        +[](Document& d) { d.caches = "cold"; }, +[](Document& d) { d.distribution = "zeros"; }}) {
    Document other = one;
    change(other);
    const auto why = incomparable(one, other);
    ASSERT_TRUE(why);
    EXPECT_NE(why->find("differs"), std::string::npos);
  }
}

TEST(Compare, ComparesDriverVersionsIfBothAreKnown) {
  Document old = document({record(1)}), one = old, two = old;
  one.drivers[0].version = "580.1";
  two.drivers[0].version = "580.2";
  EXPECT_FALSE(incomparable(old, one)) << "an older file does not tell it";
  EXPECT_FALSE(incomparable(one, old));
  EXPECT_FALSE(incomparable(one, one));
  EXPECT_EQ(incomparable(one, two), "the driver differs: 580.1 then, 580.2 now");
}

TEST(Documents, RecordTheCompilerAndTheGpu) {
  Session session;
  Row row;
  const Variant variant;
  row.variant = &variant;
  row.device.where = Where::cuda;
  row.device.name = "a GPU";
  row.device.driver = "driver 580.1 for CUDA 13.0, runtime 13.0";
  session.rows = {row};
  Json json = to_json(session);
  ASSERT_TRUE(json.contains("cuda"));
  EXPECT_EQ(json["cuda"].is_null(), this_build().cuda_compiler.empty());
  json["cuda"] = {{"compiler", "nvcc 13.0"}, {"architectures", "90a-real"}, {"flags", "-fmad=false"}};
  Document document = read_document(json, "it");
  EXPECT_EQ(document.drivers[0].version, "580.1");
  EXPECT_EQ(document.drivers[0].cuda, "driver for CUDA 13.0, runtime 13.0");
  EXPECT_EQ(driver_text({document.drivers[0].cuda, "580.1"}), row.device.driver);
  EXPECT_EQ(document.cuda_compiler, "nvcc 13.0");
  EXPECT_EQ(document.cuda_flags, "-fmad=false for 90a-real");
  json.erase("cuda");
  json["devices"][0]["driver"] = "driver for CUDA 13.0, runtime 13.0";
  document = read_document(json, "an older one");
  EXPECT_EQ(document.drivers[0].cuda, "driver for CUDA 13.0, runtime 13.0");
  EXPECT_EQ(document.drivers[0].version + document.cuda_compiler + document.cuda_flags, "");
}

TEST(Documents, AreReadBackAndOtherFilesRefused) {
  const Json good =
      Json::parse(R"({"schema": 1, "kind": "bench", "operation": "toy", "seed": 3, "caches": "hot",
    "machine": {"processor": "p"}, "devices": [{"label": "cuda:0", "name": "a GPU", "driver": null}],
    "rows": [{"dims": {"n": 2, "m": 1}, "words": {"op": "t"}, "element": "f32", "ladder": "gpu", "variant": "v",
      "tuning": {"y": 2, "x": 1}, "device": "cuda:0", "threads": 1, "seconds": [1, 2], "clocks_mhz": [5],
      "verified": "ok"}]})");
  const Document document = read_document(good, "it");
  ASSERT_EQ(document.records.size(), 1u);
  const Record& record = document.records[0];
  EXPECT_EQ(record.key(), "m=1 n=2 op=t|f32|gpu/v|x=1,y=2|burst|a GPU|1");
  EXPECT_EQ(record.seconds, (std::vector<double>{1, 2}));
  EXPECT_TRUE(record.clocks_mhz.empty());  // not as many as seconds
  EXPECT_EQ(document.seed, "3");
  for (const char* bad :
       {"[]", "{}", R"({"schema": 2, "kind": "bench", "rows": []})",
        R"({"schema": 1, "kind": "trace", "rows": []})", R"({"schema": 1, "kind": "bench", "rows": [{}]})",
        R"({"schema": 1, "kind": "bench", "rows": [3]})"})
    EXPECT_THROW(read_document(Json::parse(bad), "it"), Error) << bad;
}

}  // namespace
}  // namespace tessera::bench
