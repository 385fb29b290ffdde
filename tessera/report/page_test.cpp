// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include "tessera/core/error.hpp"
#include "tessera/report/advice.hpp"
#include "tessera/report/page.hpp"
#include "tessera/report/xml_check.hpp"

namespace tessera::report {
namespace {

std::string row(const std::string& variant, double median, const std::string& more = "") {
  return fmt::format(R"({{"dims": {{"m": 64}}, "element": "f32", "ladder": "gpu", "place": 1, "variant": "{}",
    "device": "cuda:0", "median": {}, "q1": {}, "q3": {}, "samples": 9, "gflops": {}, "verified": "ok"{}}})",
                     variant, median, median, median, 1 / median, more);
}

Document document(const std::string& rows, const std::string& kind = "bench",
                  const std::string& devices = "[]") {
  return parse_document("some.json", R"({"schema": 1, "kind": ")" + kind +
                                         R"(", "operation": "product", "devices": )" + devices +
                                         R"(, "rows": [)" + rows + "]}");
}

bool advises(const std::vector<Advice>& all, const std::string& text) {
  return std::ranges::any_of(
      all, [&](const Advice& a) { return (a.title + a.evidence).find(text) != std::string::npos; });
}

constexpr const char* ceilings =
    R"([{"label": "cuda:0", "name": "G", "ceilings": {"memory_gbps": 100, "gflops": {"f32": 1000}}}])";

TEST(Page, TheRooflineIsLeftOutWithItsReason) {
  const auto reason = [](const Document& made) {
    const std::vector<Document> all{made};
    const auto sections = sections_of(all);
    for (const Chart& chart : sections.at(0).charts)
      if (chart.title.starts_with("The roofline")) return chart.missing.value_or("it is drawn");
    return std::string("there is none");
  };
  const std::string both = row("a", 0.1) + "," + row("b", 0.2);
  const std::string bytes = R"(, "bytes": 1e8)";
  EXPECT_EQ(reason(document(both)), "no row has both arithmetic and bytes");
  EXPECT_EQ(reason(document(row("a", 0.1, bytes))), "the file holds no measured ceilings of the device");
  EXPECT_EQ(reason(document(row("a", 0.1, bytes), "bench", ceilings)), "it is drawn");
  EXPECT_EQ(reason(document(row("a", 0.1, bytes + R"(, "roofline": 0.5, "ceiling": "arithmetic")"))),
            "the file holds no measured memory bandwidth of the device");
  EXPECT_NE(page({document(both)}).find("is left out: no row has both"), std::string::npos);
}

TEST(Page, EveryDrawingIsWellFormedAtEveryWidth) {
  std::string rows;
  for (int x = 1; x <= 64; x *= 2)
    for (int y = 1; y <= 8; y *= 2)
      rows += (rows.empty() ? "" : ",") +
              row(x < 8 ? "<b>&" : "swept", 0.1 * x / y,
                  fmt::format(R"(, "bytes": 1e8, "tuning": {{"x": {}, "y": {}}})", x, y));
  rows +=
      R"(,{"variant": "absent", "element": "f32", "device": "cuda:0", "dims": {"m": 64}, "reason": "<i>none</i>"})";
  int drawn = 0;
  for (const char* kind : {"bench", "sweep", "tune"}) {
    const std::vector<Document> made{document(rows, kind, ceilings)};
    for (const Section& section : sections_of(made))
      for (const Chart& chart : section.charts) {
        if (chart.missing) continue;
        for (const double width : {wide, narrow, 700.0})
          EXPECT_EQ(xml_fault(chart.drawn(width, "x").standalone()), "");
        EXPECT_EQ(xml_fault(chart.table.html()), "") << chart.name;
        ++drawn;
      }
  }
  EXPECT_GE(drawn, 9);
}

TEST(Page, ChartsHaveNamesOfTheirOwn) {
  const Document made = document(row("a", 0.1) + "," + row("b", 0.2));
  const std::vector<Document> all{made, made};
  const auto sections = sections_of(all);
  EXPECT_EQ(chart_named(sections, "ladder").name, "ladder");
  EXPECT_EQ(chart_named(sections, "ladder-2").name, "ladder-2");
  EXPECT_THROW(chart_named(sections, "roofline"), Error);
  EXPECT_THROW(chart_named(sections, "nothing"), Error);
}

TEST(Page, TheSerialRungIsARungOfItsOwnDeviceOnly) {
  const std::string serial =
      R"({"variant": "first", "device": "cpu", "dims": {"m": 64}, "element": "f32", "median": 9,
    "serial": true, "verified": "ok"})";
  const std::vector<Document> apart{document(serial + "," + row("a", 0.1) + "," + row("b", 0.2))};
  ASSERT_EQ(sections_of(apart).size(), 1u);
  EXPECT_EQ(sections_of(apart)[0].charts.at(0).table.lines.size(), 2u);
  const std::vector<Document> together{
      document(row("first", 9, R"(, "serial": true)") + "," + row("b", 0.2))};
  EXPECT_EQ(sections_of(together).at(0).charts.at(0).table.lines.size(), 2u);
}

TEST(Page, NothingMeasuredIsSaid) {
  EXPECT_NE(page({document("")}).find("The file holds no rows."), std::string::npos);
  const std::string text = page({document(R"({"variant": "a"}, {"variant": "b"})")});
  EXPECT_NE(text.find("no rung has a time"), std::string::npos);
}

TEST(Advice, RestsOnTheNumbers) {
  EXPECT_TRUE(advice_for({document(row("a", 0.1) + "," + row("b", 0.05))}).empty());
  const auto slower =
      advice_for({document(row("a", 0.1) + "," + row("b", 0.2, R"(, "ratio_previous": 0.5)"))});
  EXPECT_TRUE(advises(slower, "b is slower than the rung before it"));
  EXPECT_TRUE(advises(advice_for({document(row("a", 0.1, R"(, "ratio_baseline": 0.4)"))}),
                      "reaches 40 % of the baseline"));
  EXPECT_FALSE(advises(advice_for({document(row("a", 0.1, R"(, "ratio_baseline": 0.99)"))}), "baseline"));
  EXPECT_TRUE(advises(advice_for({document(row("a", 0.1, R"(, "roofline": 0.95, "ceiling": "memory")"))}),
                      "at the memory ceiling"));
  EXPECT_TRUE(advises(advice_for({document(row("a", 0.1, R"(, "throttled": 3)"))}), "3 samples"));
  const auto wrong = advice_for({document(R"({"variant": "w", "median": 1, "verified": "wrong"})")});
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong[0].title, "w computes a wrong result");
}

TEST(Advice, TheEdgeOfWhatWasTried) {
  const auto swept = [](double a, double b, double c) {
    return advice_for(
        {document(row("s", a, R"(, "tuning": {"x": 1})") + "," + row("s", b, R"(, "tuning": {"x": 2})") +
                  "," + row("s", c, R"(, "tuning": {"x": 4})"))});
  };
  EXPECT_TRUE(advises(swept(3, 2, 1), "x = 4 is the largest"));
  EXPECT_TRUE(advises(swept(1, 2, 3), "x = 1 is the smallest"));
  EXPECT_FALSE(advises(swept(2, 1, 2), "edge"));
}

std::string traced(const std::string& counters, const std::string& element = "f32") {
  return R"({"variant": "t", "element": ")" + element + R"(", "counters": {)" + counters + R"(},
    "lines": [{"file": "k.cu", "line": 12, "text": "", "global_load.sectors": 9}]})";
}

TEST(Advice, CountersOfATrace) {
  const std::string scattered = R"("global_load.requests": 100, "global_load.sectors": 1650)";
  const auto all = advice_for({document(traced(scattered), "trace")});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].title, "Coalesce the loads of t");
  EXPECT_NE(all[0].evidence.find("16.5 sectors per request, where 4.00 hold"), std::string::npos);
  EXPECT_NE(all[0].evidence.find("k.cu:12"), std::string::npos);
  // Eight sectors hold a warp's doubles.
  EXPECT_TRUE(
      advice_for(
          {document(traced(R"("global_load.requests": 100, "global_load.sectors": 800)", "f64"), "trace")})
          .empty());
  EXPECT_FALSE(
      advice_for({document(traced(R"("global_load.requests": 100, "global_load.sectors": 800)"), "trace")})
          .empty());
  EXPECT_TRUE(advises(
      advice_for({document(traced(R"("shared_load.requests": 100, "shared_load.conflicts": 40)"), "trace")}),
      "Bank conflicts"));
  EXPECT_TRUE(advises(advice_for({document(traced(R"("cgma": 1)"), "trace")}), "again and again"));
  EXPECT_TRUE(advice_for({document(traced(R"("cgma": 16, "occupancy": 1)"), "trace")}).empty());
}

}  // namespace
}  // namespace tessera::report
