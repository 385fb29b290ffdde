// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include "tessera/core/error.hpp"
#include "tessera/report/chart.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/report/table.hpp"
#include "tessera/report/xml_check.hpp"

namespace tessera::report {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Escape, MarkupBecomesText) {
  EXPECT_EQ(escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escaped("µ × …"), "µ × …");
}

TEST(Escape, WhatXmlForbidsIsReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped(std::string("a\0b", 3)), "a" + replaced + "b");
  EXPECT_EQ(escaped("\x1b"), replaced);
  EXPECT_EQ(escaped("\xFF"), replaced);
  EXPECT_EQ(escaped("\xC3"), replaced);                                // cut off
  EXPECT_EQ(escaped("\xC0\xBC"), replaced + replaced);                 // '<' written too long
  EXPECT_EQ(escaped("\xED\xA0\x80"), replaced + replaced + replaced);  // half of a pair
  EXPECT_EQ(escaped("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

TEST(Escape, ShorteningCutsBetweenCharacters) {
  EXPECT_EQ(shortened("µµµµ", 4), "µµµµ");
  EXPECT_EQ(shortened("µµµµ", 3), "µµ…");
  EXPECT_EQ(slug("Shared tiles: <f32>!"), "shared-tiles-f32");
}

std::vector<double> values(const std::vector<Tick>& ticks) {
  std::vector<double> out;
  for (const Tick& tick : ticks) out.push_back(tick.value);
  return out;
}

TEST(Scale, LogTicksAreDecadesAndWithinFewDecadesTheirTwosAndFives) {
  const Scale wide(Scale::Kind::log, 0.01, 1000, 0, 500);
  EXPECT_EQ(values(wide.ticks(6)), (std::vector<double>{0.01, 0.1, 1, 10, 100, 1000}));
  EXPECT_EQ(values(wide.ticks(3)), (std::vector<double>{0.01, 1, 100}));
  const Scale close(Scale::Kind::log, 1, 60, 0, 500);
  EXPECT_EQ(values(close.ticks(8)), (std::vector<double>{1, 2, 5, 10, 20, 50}));
  EXPECT_DOUBLE_EQ(wide.at(0.01), 0);
  EXPECT_DOUBLE_EQ(wide.at(1000), 500);
  EXPECT_DOUBLE_EQ(wide.at(1), 200);
}

TEST(Scale, LinearTicksAreRound) {
  const Scale scale(Scale::Kind::linear, 0, 49, 100, 0);
  EXPECT_EQ(values(scale.ticks(5)), (std::vector<double>{0, 10, 20, 30, 40}));
  EXPECT_DOUBLE_EQ(scale.at(49), 0);
  EXPECT_EQ(scale.ticks(5)[1].label, "10");
}

TEST(Scale, TicksLieWithinAndAscendWhateverTheRange) {
  for (const double low : {1e-9, 0.3, 1.0, 7e4})
    for (const double times : {1.001, 3.0, 40.0, 1e9})
      for (const auto kind : {Scale::Kind::linear, Scale::Kind::log}) {
        const Scale scale(kind, low, low * times, 0, 100);
        const auto ticks = values(scale.ticks(6));
        EXPECT_TRUE(std::ranges::is_sorted(ticks));
        EXPECT_LE(ticks.size(), 20u);
        for (const double tick : ticks) {
          EXPECT_GE(tick, low * (1 - 1e-6));
          EXPECT_LE(tick, low * times * (1 + 1e-6));
        }
      }
}

TEST(Scale, RefusesWhatIsNoRange) {
  EXPECT_THROW(Scale(Scale::Kind::log, 0, 1, 0, 1), Error);
  EXPECT_THROW(Scale(Scale::Kind::linear, 1, 1, 0, 1), Error);
  EXPECT_THROW(Scale(Scale::Kind::linear, nan, 1, 0, 1), Error);
  EXPECT_THROW(Scale(Scale::Kind::linear, 0, infinity, 0, 1), Error);
}

TEST(Scale, FiguresAndCounts) {
  EXPECT_EQ(figure(49.123), "49.1");
  EXPECT_EQ(figure(0.07), "0.0700");
  EXPECT_EQ(figure(99.96), "100");
  EXPECT_EQ(figure(nan), "n/a");
  EXPECT_EQ(count(8192), "8192");
  EXPECT_EQ(count(17301504), "17.3 M");
  EXPECT_EQ(count(999999), "1.00 M");
  EXPECT_EQ(count(infinity), "n/a");
}

TEST(Svg, IsWellFormedWhateverTheText) {
  Svg svg(100, 50, "a <b>", "T & \"T\"", "</desc><script>");
  svg.rect(1, 2, 3, 4, "bar", "</title><script>alert(1)</script>");
  svg.line({0, 0}, {1, 1}, "grid");
  svg.path({{0, 0}, {5, 5}}, "roof");
  svg.circle({5, 5}, 2, "point", "µ\x01");
  svg.text({1, 1}, "<&>'\"\xFF", "small", Svg::Anchor::end);
  for (const std::string& text : {svg.standalone(), svg.inline_text("chart wide")}) {
    EXPECT_EQ(xml_fault(text), "") << text;
    EXPECT_EQ(text.find("<script"), std::string::npos);
  }
}

TEST(Svg, RefusesCoordinatesThatAreNoNumbers) {
  Svg svg(100, 50, "id", "title", "words");
  EXPECT_THROW(svg.rect(nan, 0, 1, 1, "bar"), Error);
  EXPECT_THROW(svg.rect(0, 0, -1, 1, "bar"), Error);
  EXPECT_THROW(svg.rect(0, 0, nan, 1, "bar"), Error);
  EXPECT_THROW(svg.line({0, 0}, {infinity, 0}, "grid"), Error);
  EXPECT_THROW(svg.circle({0, nan}, 1, "point"), Error);
  EXPECT_THROW(svg.text({0, -infinity}, "x", ""), Error);
}

TEST(XmlCheck, FindsFaults) {
  EXPECT_EQ(xml_fault("<a b=\"c\"><d/>t &amp; &#39;</a>"), "");
  EXPECT_NE(xml_fault("<a><b></a></b>"), "");
  EXPECT_NE(xml_fault("<a>"), "");
  EXPECT_NE(xml_fault("<a b=c/>"), "");
  EXPECT_NE(xml_fault("<a>&nbsp</a>"), "");
  EXPECT_NE(xml_fault("<a b=\"<\"/>"), "");
}

Bars bars_of(const std::vector<double>& numbers) {
  Bars out{"unit", {}, {}, {}};
  for (const double number : numbers) {
    Bar bar;
    bar.label = "bar";
    if (number > 0) bar.value = number;
    else bar.missing = "it has no time";
    out.bars.push_back(bar);
  }
  return out;
}

TEST(Bars, AreLogarithmicWhereTheLeastWouldVanish) {
  const Chart chart;
  for (const double width : {wide, narrow}) {
    EXPECT_NE(draw_bars(bars_of({1, 1000}), width, "a", chart).standalone().find("logarithmic"),
              std::string::npos);
    EXPECT_EQ(draw_bars(bars_of({1, 2}), width, "a", chart).standalone().find("logarithmic"),
              std::string::npos);
  }
}

TEST(Bars, WhatIsMissingIsSaidAndExtremesAreDrawn) {
  const Chart chart;
  for (const double width : {wide, narrow})
    for (const auto& numbers : std::vector<std::vector<double>>{
             {5}, {1e-12, 1e12}, {1, 0}, {1e-300, 1}, {3, 3, 3}, {1, 29.999}, {1, 30.001}}) {
      const std::string text = draw_bars(bars_of(numbers), width, "a", chart).standalone();
      EXPECT_EQ(xml_fault(text), "");
      EXPECT_EQ(text.find("nan"), std::string::npos);
      EXPECT_EQ(text.find("inf\""), std::string::npos);
      EXPECT_EQ(text.find("n/a: it has no time") != std::string::npos, std::ranges::count(numbers, 0) > 0);
    }
}

TEST(HeatMap, SaysWhatCouldNotRunAndLeavesWhatWasNotTried) {
  HeatMap map{"x", "y", "GFLOP/s", {"1", "2", "4"}, {"8"}, {{{3.0, "3.00", "tip"}, {{}, "n/a", "why"}, {}}}};
  const Chart chart;
  for (const double width : {wide, narrow}) {
    const std::string text = draw_heat_map(map, width, "a", chart).standalone();
    EXPECT_EQ(xml_fault(text), "");
    EXPECT_NE(text.find("<title>why</title>"), std::string::npos);
    EXPECT_NE(text.find(">n/a</text>"), std::string::npos);
  }
  const std::string table = heat_table(map, "words").html();
  EXPECT_EQ(xml_fault(table), "");
  EXPECT_NE(table.find("data-value=\"3\""), std::string::npos);
}

TEST(HeatMap, TheBestIsTheDarkestWhicheverWayIsBetter) {
  const Chart chart;
  for (const bool more : {true, false}) {
    HeatMap map{"x", "y", "u", {"1", "2"}, {"8"}, {{{1.0, "low", "t"}, {2.0, "high", "t"}}}, more};
    const std::string text = draw_heat_map(map, wide, "a", chart).inline_text("chart");
    const auto dark = text.find("heat6");
    const auto named = text.find(">" + std::string(more ? "high" : "low") + "<");
    EXPECT_LT(dark, named);
    EXPECT_LT(named - dark, 250u);
  }
}

}  // namespace
}  // namespace tessera::report
