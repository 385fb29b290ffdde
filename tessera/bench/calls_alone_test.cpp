// SPDX-License-Identifier: Apache-2.0
// Calls of a made-up operation, measured on a made-up GPU and in host memory.
#include "tessera/bench/calls.hpp"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include "tessera/core/text/error.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/report/document.hpp"
#include "tessera/run/public_call.hpp"
#include "tests/made_up_gpu.hpp"

namespace tessera::bench {
namespace {

using namespace made_up;

std::vector<std::vector<void*>> seen;  // the arrays of each call
bool prepared_is_wrong = false;

void double_all(std::span<void* const> arrays, std::int64_t n, float factor = 2) {
  ++runs;
  seen.emplace_back(arrays.begin(), arrays.end());
  for (std::int64_t i = 0; i < n; ++i)
    static_cast<float*>(arrays[1])[i] = factor * static_cast<const float*>(arrays[0])[i];
}

// Makes a variant with three choices: one is planned ahead, one refuses, one is not planned.
Variant library(Where where) {
  Variant out = rung("library", where, [](const Buffers& b) { b.compute(); });
  out.baseline = true;
  out.choices.resize(3, out.choices[0]);
  out.choices[0].tuning = {{"first", 1}};
  for (const std::size_t i : {0u, 1u})
    out.choices[i].prepare[Element::f32] = [](const Arguments& arguments, const Tuning&, const Device&) {
      PreparedRun ahead;
      ahead.workspace_bytes = 512;
      ahead.launch = [n = arguments.dim("n")](std::span<void* const> arrays, Run& run) {
        EXPECT_EQ(run.workspace_bytes, 512u);
        EXPECT_EQ(static_cast<char*>(run.workspace)[511], 0);
        double_all(arrays, n);
      };
      return ahead;
    };
  out.choices[1].refuses = [](const Arguments&, const Tuning&, const Device&) -> Reason { return "too odd"; };
  return out;
}

// Makes a baseline that reports its own time, like one that works in another process.
Variant with_a_clock() {
  Variant out = rung("clock", Where::cpu, nullptr);
  out.baseline = true;
  out.choices[0].prepare[Element::f32] =
      without_plan([](const Arguments& arguments, const Tuning&, Run& run) {
        const Buffers arrays(arguments);
        seen.push_back({arrays.a, arrays.c});
        arrays.compute();
        run.reported_seconds = 1.5;
      });
  return out;
}

class Calls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    gpu_ = &made_up_gpu();
    register_operation(toy());
    register_public_call("toy", [](const Device& device, const Arguments& arguments) {
      static const Variant own = rung("own", Where::cuda, nullptr);
      PublicCall out{.plan = {&own, &own.choices[0], {}, device}, .plain = {}, .prepared = {}};
      out.plain = [n = arguments.dim("n")](void*, std::span<void* const> arrays) { double_all(arrays, n); };
      out.prepared = [n = arguments.dim("n")](void*, std::span<void* const> arrays) {
        double_all(arrays, n, prepared_is_wrong ? 3 : 2);
      };
      return out;
    });
    register_empty_launch([](const Device&, void*) { ++empty_launches; });
    register_variant(library(Where::cuda), SourceLocation{"ops/toy/gpu_00_library.cu", 1});
    register_variant(with_a_clock(), SourceLocation{"ops/toy/cpu_00_clock.cpp", 1});
  }
  void SetUp() override {
    seen.clear();
    prepared_is_wrong = false;
  }

  std::vector<Row> measure(const Device& device) const {
    Measuring measuring;
    measuring.effort.samples = 4;
    return measure_calls(*find_operation("toy"), Element::f32, {.dims = {{"n", 100}}}, device, measuring);
  }
  static std::vector<std::string> kinds_of(const Row& row) {
    std::vector<std::string> out;
    for (const auto& [kind, samples] : row.calls) {
      EXPECT_EQ(samples.size(), 4u) << kind;
      out.push_back(kind);
    }
    return out;
  }
  static void expect_other_arrays_each_time() {
    ASSERT_GT(seen.size(), 20u);
    for (std::size_t i = 1; i < seen.size(); ++i)
      for (const std::size_t array : {0u, 1u}) ASSERT_NE(seen[i][array], seen[i - 1][array]) << i;
  }

  static inline FakeGpu* gpu_ = nullptr;
  static inline int empty_launches = 0;
};

TEST_F(Calls, OnAGpu) {
  gpu_->seconds_of_a_run = 1e-5;
  gpu_->set_cache(16000);
  const int before = gpu_->graph_launches;
  auto rows = measure(gpu_->devices()[0]);
  ASSERT_EQ(rows.size(), 3u);  // the choice that is not planned is left out
  EXPECT_EQ(kinds_of(rows[0]), (std::vector<std::string>{"graph", "host", "host_empty", "host_prepared",
                                                         "stream", "stream_prepared"}));
  EXPECT_GE(empty_launches, 4 * 3);
  EXPECT_EQ(kinds_of(rows[1]), (std::vector<std::string>{"graph", "host", "stream"}));
  EXPECT_EQ(rows[2].reason, "too odd");
  EXPECT_EQ(rows[0].verified, Verified::ok);
  EXPECT_GE(rows[0].sets * 800, 40000);
  EXPECT_EQ(gpu_->graph_launches - before, 16) << "two rows, four samples, each behind a short one";
  EXPECT_DOUBLE_EQ(summarize(rows[0].calls.at("graph")).median, 1e-5);
  EXPECT_DOUBLE_EQ(rows[0].median(), 1e-5);
  expect_other_arrays_each_time();

  fill_ratios(rows, "");
  const std::string table = report::call_table(rows);
  for (const char* text :
       {"host, prepared", "empty launch", "stream, prepared", "× graph", "first=1", "too odd"})
    EXPECT_NE(table.find(text), table.npos) << table;
  const auto twice = [&] {
    auto out = rows;
    out.insert(out.end(), rows.begin(), rows.end());
    return out;
  }();
  EXPECT_EQ(report::call_means(rows), "");
  EXPECT_NE(report::call_means(twice).find("graph of the call against gpu/library first=1: 1.000 times"),
            std::string::npos)
      << report::call_means(twice);

  Session session;
  session.operation = "toy";
  session.rows = rows;
  auto json = to_json(session);
  json["kind"] = "call";
  const auto read = nlohmann::json::parse(json.dump());
  const auto prepared = read["rows"][0]["calls"]["host_prepared"];
  EXPECT_LE(prepared["q1"].get<double>(), prepared["median"].get<double>());
  EXPECT_LE(prepared["median"].get<double>(), prepared["q3"].get<double>());
  EXPECT_EQ(read["rows"][0]["calls"]["stream"]["median"], read["rows"][0]["median"]);
  EXPECT_EQ(report::parse_document("call.json", json.dump()).rows.size(), 3u);
}

TEST_F(Calls, InHostMemory) {
  const auto rows = measure(find_device("cpu"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(kinds_of(rows[0]), (std::vector<std::string>{"host", "host_prepared"}));
  EXPECT_EQ(rows[0].seconds, rows[0].calls.at("host"));
  EXPECT_EQ(rows[0].verified, Verified::ok);
  EXPECT_EQ(rows[1].seconds, std::vector<double>(4, 1.5)) << "it has a clock of its own";
  expect_other_arrays_each_time();
}

TEST_F(Calls, FindAWrongResultOfEitherCall) {
  prepared_is_wrong = true;
  const auto rows = measure(find_device("cpu"));
  EXPECT_EQ(rows[0].verified, Verified::wrong);
  EXPECT_NE(rows[0].finding, "");
}

TEST_F(Calls, ReportWhyACallCannotBeMeasured) {
  Operation other = toy();
  other.name = "other";
  EXPECT_THROW(measure_calls(other, Element::f32, {.dims = {{"n", 100}}}, find_device("cpu"), {}), Error);
  EXPECT_THROW(
      measure_calls(*find_operation("toy"), Element::f32, {.dims = {{"n", 0}}}, find_device("cpu"), {}),
      Error);
}

}  // namespace
}  // namespace tessera::bench
