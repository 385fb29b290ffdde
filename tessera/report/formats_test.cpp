// SPDX-License-Identifier: Apache-2.0
// CSV and JUnit of made-up rows.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <sstream>
#include "tessera/bench/result.hpp"
#include "tessera/report/bench_tables.hpp"
#include "tessera/report/exports.hpp"

namespace tessera::report {
namespace {

class Formats : public testing::Test {
 protected:
  Formats() {
    first_.ladder = second_.ladder = library_.ladder = "gpu";
    first_.name = "first";
    first_.place = 1;
    second_.name = "second";
    second_.place = 2;
    library_.name = "library";
    library_.baseline = true;
    session_.operation = "toy";
    session_.caches = "hot";
    session_.rows = {row(library_, {2, 2, 2, 2, 2}), row(first_, {7.8, 8, 8, 8, 8.2}),
                     row(second_, {4, 4, 4, 4, 4})};
  }

  static bench::Row row(const Variant& variant, std::vector<double> seconds) {
    bench::Row out;
    out.variant = &variant;
    out.dims = {{"m", 3}};
    out.flops = 6e9;
    out.bytes = 4e9;
    out.seconds = std::move(seconds);
    out.verified = bench::Verified::ok;
    return out;
  }

  Variant first_, second_, library_;
  bench::Session session_;
};

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

TEST_F(Formats, CsvHasAsManyCellsAsTitlesAndNoZeroForWhatIsMissing) {
  session_.rows[1].reason = "a \"reason\", with\nall that hurts";
  session_.rows[1].seconds.clear();
  std::string text = csv(session_);
  EXPECT_NE(text.find("\"a \"\"reason\"\", with\nall that hurts\"\r\n"), std::string::npos);
  session_.rows[1].reason = "slow";
  std::istringstream lines(csv(session_));
  std::string line;
  std::getline(lines, line);
  const auto titles = cells(line);
  const auto at = [&](const std::vector<std::string>& values, const char* title) {
    return values.at(static_cast<std::size_t>(std::ranges::find(titles, title) - titles.begin()));
  };
  std::vector<std::vector<std::string>> rows;
  while (std::getline(lines, line)) rows.push_back(cells(line));
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& values : rows) EXPECT_EQ(values.size(), titles.size());
  EXPECT_EQ(at(rows[0], "median_s"), "2");
  EXPECT_EQ(at(rows[0], "gflops"), "3");
  EXPECT_EQ(at(rows[0], "gbps"), "2");
  EXPECT_EQ(at(rows[0], "power_w"), "n/a");
  EXPECT_EQ(at(rows[1], "median_s"), "n/a");
  EXPECT_EQ(at(rows[1], "gflops"), "n/a");
  EXPECT_EQ(at(rows[1], "problem"), "m=3");
}

TEST_F(Formats, JUnitTellsFailuresFromSkips) {
  session_.rows[0].seconds.clear();
  session_.rows[0].reason = "no <library> & no \"luck\"";
  session_.rows[1].verified = bench::Verified::wrong;
  session_.rows[1].finding = "[0] is 1,\nshould be 2\x01";
  const auto cases = test_cases(session_);
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].outcome, TestCase::Outcome::skipped);
  EXPECT_EQ(cases[1].outcome, TestCase::Outcome::failed);
  EXPECT_EQ(cases[2].outcome, TestCase::Outcome::passed);
  const std::string xml = junit("bench", cases);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"no &lt;library&gt; &amp; no &quot;luck&quot;\"/>"),
            std::string::npos);
  EXPECT_NE(xml.find("<failure message=\"[0] is 1,&#10;should be 2 \"/>"), std::string::npos) << xml;
}

TEST_F(Formats, AllThrottledFails) {
  session_.rows[0].seconds.clear();
  session_.rows[0].throttled = 7;
  EXPECT_EQ(test_cases(session_)[0].outcome, TestCase::Outcome::failed);
}

TEST_F(Formats, TheClosingSentencePropagatesBothSpreads) {
  const bench::Ratio ratio = bench::ratio_of(bench::summarize({9, 10, 11}), bench::summarize({19, 20, 21}));
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.error, 2 * std::hypot(0.05, 0.025));
  const auto text = bench::summary_of(session_.rows);
  ASSERT_EQ(text.size(), 1u);
  EXPECT_EQ(text[0],
            "second ran 2.00 ± 0.00 times faster than first, 0.50 ± 0.00 times as fast as library on "
            "cpu:threads=1.");
  session_.rows[2].verified = bench::Verified::wrong;
  EXPECT_EQ(bench::summary_of(session_.rows)[0].substr(0, 5), "first");
  session_.rows.resize(1);
  EXPECT_TRUE(bench::summary_of(session_.rows).empty());
}

TEST_F(Formats, ReasonsAreListedOnceAndLongListsAreCut) {
  bench::Row row = session_.rows[0];
  row.seconds.clear();
  row.reason = "needs 2048 threads, the most is 1024";
  const std::vector<bench::Row> same(3, row);
  EXPECT_EQ(reasons_of(same), "n/a: " + name_of(row) + ": needs 2048 threads, the most is 1024\n");
  std::vector<bench::Row> many;
  for (int i = 0; i < 9; ++i) {
    many.push_back(row);
    many.back().tuning.set("x", 1 << i);
    many.back().reason = "needs " + std::to_string(2048 << i) + " threads, the most is 1024";
  }
  const std::string text = reasons_of(many);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_NE(text.find("x=1; "), std::string::npos) << text;
  EXPECT_NE(text.find("and 5 more: needs 2048 threads, the most is 1024, and the like"), std::string::npos)
      << text;
  many.resize(2);
  const std::string two = reasons_of(many);
  EXPECT_NE(two.find("x=2: needs 4096 threads"), std::string::npos) << "few are told exactly: " << two;
}

TEST_F(Formats, WarningsNameWhatToDo) {
  EXPECT_TRUE(bench::warnings(session_.rows).empty());
  session_.rows[0].seconds.clear();
  session_.rows[0].reason = "not installed";
  session_.rows[1].seconds = {5, 6, 8, 11, 12};
  session_.rows[2].seconds = {4};
  session_.rows[2].ceilings = {.bytes_per_second = 1e8, .flops_per_second = {{Element::f32, 1e12}}};
  const auto text = bench::warnings(session_.rows);
  ASSERT_EQ(text.size(), 4u);
  for (std::size_t i = 0; const char* remedy : {"not installed", "--cold", "--time", "--reps"})
    EXPECT_NE(text[i++].find(remedy), std::string::npos) << remedy;
}

TEST_F(Formats, OneBaselineIsEnough) {
  Variant other = library_;
  other.name = "other";
  session_.rows.push_back(row(other, {}));
  session_.rows.back().reason = "not installed";
  session_.rows.back().verified = bench::Verified::unchecked;
  EXPECT_TRUE(bench::warnings(session_.rows).empty());
  session_.rows.back().device.where = Where::simt;
  ASSERT_EQ(bench::warnings(session_.rows).size(), 1u) << "of another device";
  EXPECT_NE(bench::warnings(session_.rows)[0].find("no baseline: not installed"), std::string::npos);
}

TEST_F(Formats, TheRooflineIsTheCeilingThatBinds) {
  bench::Row& row = session_.rows[2];  // 4 s
  EXPECT_FALSE(row.roofline());
  row.ceilings = {.bytes_per_second = 2e9, .flops_per_second = {{Element::f32, 6e9}}};
  EXPECT_TRUE(row.roofline()->memory);
  EXPECT_DOUBLE_EQ(row.roofline()->fraction, 0.5);
  row.ceilings.flops_per_second[Element::f32] = 2e9;
  EXPECT_FALSE(row.roofline()->memory);
  EXPECT_DOUBLE_EQ(row.roofline()->fraction, 0.75);
  row.fma_rates = {1.5e9};  // seen beside the samples
  EXPECT_DOUBLE_EQ(row.roofline()->fraction, 1);
  row.fma_rates.clear();
  row.element = Element::f64;  // no ceiling for it
  EXPECT_FALSE(row.roofline());
}

}  // namespace
}  // namespace tessera::report
