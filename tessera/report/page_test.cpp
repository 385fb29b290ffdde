// SPDX-License-Identifier: Apache-2.0
// The page and its drawings: they are well-formed, and show the numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include "tessera/core/text/error.hpp"
#include "tessera/report/advice.hpp"
#include "tessera/report/page.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

// What makes a text no well-formed XML, or "" where nothing does. It knows as much of XML as the reports
// write.
std::string text_fault(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') return "a '<' in text";
    if (text[i] != '&') continue;
    const auto end = text.find(';', i);
    if (end == std::string::npos || end - i > 8) return "an '&' that begins nothing";
    for (std::size_t j = i + 1; j < end; ++j)
      if (std::isalnum(static_cast<unsigned char>(text[j])) == 0 && text[j] != '#') return "a broken entity";
  }
  return {};
}

// The tag from '<' to '>', without both; "" or what is wrong with its attributes.
std::string tag_fault(const std::string& tag) {
  std::size_t at = tag.find(' ');
  while (at != std::string::npos && at < tag.size()) {
    at = tag.find_first_not_of(" /", at);
    if (at == std::string::npos) break;
    const auto equals = tag.find("=\"", at);
    if (equals == std::string::npos) return "an attribute without a quoted value in <" + tag;
    const auto close = tag.find('"', equals + 2);
    if (close == std::string::npos) return "an open quote in <" + tag;
    if (const auto fault = text_fault(tag.substr(equals + 2, close - equals - 2)); !fault.empty())
      return fault;
    at = close + 1;
  }
  return {};
}

std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (true) {
    const auto begin = text.find('<', at);
    if (const auto fault = text_fault(text.substr(at, begin - at)); !fault.empty()) return fault;
    if (begin == std::string::npos) break;
    std::size_t end = begin;
    for (bool quoted = false; ++end < text.size() && (quoted || text[end] != '>');)
      if (text[end] == '"') quoted = !quoted;
    if (end >= text.size()) return "a tag without an end";
    const std::string tag = text.substr(begin + 1, end - begin - 1);
    at = end + 1;
    if (tag.starts_with('?')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag) return "<" + tag + "> closes what is not open";
      open.pop_back();
      continue;
    }
    if (const auto fault = tag_fault(tag); !fault.empty()) return fault;
    if (!tag.ends_with('/')) open.push_back(tag.substr(0, tag.find(' ')));
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Escape, MarkupBecomesText) {
  EXPECT_EQ(escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escaped("µ × …"), "µ × …");
}

TEST(Escape, ReplacesCharactersThatXmlForbids) {
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

TEST(Bars, UseALogarithmicAxisForWideRanges) {
  const Chart chart;
  for (const double width : {wide, narrow}) {
    EXPECT_NE(draw_bars(bars_of({1, 1000}), width, "a", chart).standalone().find("logarithmic"),
              std::string::npos);
    EXPECT_EQ(draw_bars(bars_of({1, 2}), width, "a", chart).standalone().find("logarithmic"),
              std::string::npos);
  }
}

TEST(Bars, LabelMissingValuesAndDrawExtremes) {
  const Chart chart;
  for (const double width : {wide, narrow})
    for (const auto& numbers : std::vector<std::vector<double>>{
             {5}, {1e-12, 1e12}, {1, 0}, {1e-300, 1}, {3, 3, 3}, {1, 29.999}, {1, 30.001}}) {
      const std::string text = draw_bars(bars_of(numbers), width, "a", chart).standalone();
      EXPECT_EQ(xml_fault(text), "");
      EXPECT_EQ(text.find("nan"), std::string::npos);
      EXPECT_EQ(text.find("inf\""), std::string::npos);
      EXPECT_EQ(text.find("not run: it has no time") != std::string::npos,
                std::ranges::count(numbers, 0) > 0);
    }
}

TEST(HeatMap, MarksFailedCellsAndOmitsUntriedOnes) {
  HeatMap map{
      "x", "y", "GFLOP/s", {"1", "2", "4"}, {"8"}, {{{3.0, "3.00", "tip"}, {{}, "not run", "why"}, {}}}};
  const Chart chart;
  for (const double width : {wide, narrow}) {
    const std::string text = draw_heat_map(map, width, "a", chart).standalone();
    EXPECT_EQ(xml_fault(text), "");
    EXPECT_NE(text.find("<title>why</title>"), std::string::npos);
    EXPECT_NE(text.find(">not run</text>"), std::string::npos);
  }
}

TEST(HeatMap, DrawsTheBestCellDarkest) {
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

TEST(Page, ReportsThatNothingWasMeasured) {
  EXPECT_NE(page({document("")}).find("The file holds no rows."), std::string::npos);
  const std::string text = page({document(R"({"variant": "a"}, {"variant": "b"})")});
  EXPECT_NE(text.find("no rung has a time"), std::string::npos);
}

TEST(Advice, FollowsFromTheNumbers) {
  EXPECT_TRUE(advice_for({document(row("a", 0.1) + "," + row("b", 0.05))}).empty());
  const auto slower =
      advice_for({document(row("a", 0.1) + "," + row("b", 0.2, R"(, "ratio_previous": 0.5)"))});
  EXPECT_TRUE(advises(slower, "b is slower than the rung before it"));
  EXPECT_TRUE(advises(advice_for({document(row("c", 0.2, R"(, "ratio_previous": 0.5, "previous": "a")"))}),
                      "c is slower than a"));
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

TEST(Advice, ReportsABestValueAtTheEdgeOfItsRange) {
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

// That charts show the numbers: shapes are measured against their own axes, as a reader would.
const std::map<std::string, double> rates{{"alpha", 100}, {"beta", 40}, {"gamma", 10}, {"delta", 2.5}};
constexpr double flops = 1e9, row_bytes = 4e8, memory_gbps = 100, arithmetic_gflops = 1000;

Document measured(double factor) {
  std::string rows;
  for (const auto& [name, gflops] : rates) {
    const double rate = std::pow(gflops, factor), median = flops / rate / 1e9;
    rows += fmt::format(R"({}{{"dims": {{"m": 64}}, "element": "f32", "ladder": "gpu", "place": 1,
      "variant": "{}", "device": "cuda:0", "median": {}, "q1": {}, "q3": {}, "samples": 9, "gflops": {},
      "bytes": {}, "verified": "ok"}})",
                        rows.empty() ? "" : ",", name, median, median, median, rate, row_bytes);
  }
  return parse_document("some.json", fmt::format(R"({{"schema": 1, "kind": "bench", "operation": "product",
      "devices": [{{"label": "cuda:0", "name": "G", "ceilings": {{"memory_gbps": {}, "gflops": {{"f32": {}}}}}}}],
      "rows": [{}]}})",
                                                 memory_gbps, arithmetic_gflops, rows));
}

std::string drawing(const Document& document, const std::string& name, double width) {
  const std::vector<Document> documents{document};
  for (const Section& section : sections_of(documents))
    for (const Chart& chart : section.charts)
      if (chart.name == name) return chart.missing ? *chart.missing : chart.drawn(width, "x").standalone();
  return "there is no such chart";
}

std::vector<std::smatch> all_of(const std::string& text, const std::regex& what) {
  return {std::sregex_iterator(text.begin(), text.end(), what), {}};
}

// What a position means, by two ticks that are named.
struct Axis {
  double first, second, at_first, at_second;
  bool log;
  double at(double value) const {
    const double part =
        log ? std::log(value / first) / std::log(second / first) : (value - first) / (second - first);
    return at_first + part * (at_second - at_first);
  }
};

Axis axis_across(const std::string& text) {
  static const std::regex tick(
      R"re(<line x1="([^"]*)" y1="[^"]*" x2="\1" y2="[^"]*" class="grid"/>\n<text [^>]*>([^<]*)</text>)re");
  const auto ticks = all_of(text, tick);
  EXPECT_GE(ticks.size(), 2u) << text;
  if (ticks.size() < 2) return {};
  const auto &first = ticks.front(), &last = ticks.back();
  return {std::stod(first[2]), std::stod(last[2]), std::stod(first[1]), std::stod(last[1]),
          text.find("logarithmic scale") != std::string::npos};
}

// Samples that spread by ±`noise` around a median of `seconds`.
std::string sampled(const std::string& variant, double seconds, double noise, const std::string& more) {
  std::string samples;
  for (int i = 0; i < 21; ++i)
    samples += fmt::format("{}{}", i == 0 ? "" : ",", seconds * (1 + noise * (i % 7 - 3) / 3));
  return row(variant, seconds, R"(, "seconds": [)" + samples + R"(], "other_load": 0.3)" + more);
}

TEST(Page, LeavesOutWhatCompareRefusesAndSaysThatOthersRan) {
  const auto page_of = [](double second, double noise) {
    Document both =
        document(sampled("first", 3, noise, "") + "," +
                 sampled("second", second, noise,
                         fmt::format(R"(, "ratio_previous": {0}, "ratio_serial": {0}, "previous": "first")",
                                     1 / second)));
    for (Entry& entry : both.rows) entry.device = "cpu";
    return page({both});
  };
  const std::string clear = page_of(0.75, 0.01), open = page_of(2.7, 0.3);
  EXPECT_NE(clear.find("second is the fastest of 2 rungs"), std::string::npos);
  EXPECT_NE(clear.find("4.00 times as fast as first"), std::string::npos);
  EXPECT_NE(open.find("the samples do not tell if it is faster than first"), std::string::npos);
  EXPECT_EQ(open.find("1.11"), std::string::npos) << "neither in the sentence nor in a table";
  EXPECT_EQ(open.find("is the fastest"), std::string::npos);
  for (const std::string& text : {clear, open})
    EXPECT_NE(text.find("Other programs took up to 30 % of the processors meanwhile"), std::string::npos);
}

TEST(Drawing, ABarEndsWhereItsValueIsOnTheAxis) {
  for (const double width : {wide, narrow})
    for (const double factor : {0.5, 1.0}) {  // 6 times apart, and 40 times: a linear and a logarithmic axis
      const std::string text = drawing(measured(factor), "ladder", width);
      const Axis axis = axis_across(text);
      EXPECT_EQ(axis.log, factor == 1);
      // A logarithmic scale has no zero for a bar to begin at, so there are dots.
      static const std::regex bar(
          R"re(<(?:rect x="([^"]*)" y="[^"]*" width="([^"]*)"|circle cx="([^"]*)") [^>]*class="bar [^>]*><title>\d+ (\w+))re");
      const auto bars = all_of(text, bar);
      ASSERT_EQ(bars.size(), rates.size()) << text;
      for (const auto& found : bars) {
        EXPECT_NE(found[axis.log ? 3 : 1], "");
        EXPECT_NEAR(axis.log ? std::stod(found[3]) : std::stod(found[1]) + std::stod(found[2]),
                    axis.at(std::pow(rates.at(found[4]), factor)), 0.3)
            << found[4] << " at " << width;
      }
    }
}

TEST(Drawing, EveryRungHasItsPointUnderTheRoof) {
  for (const double width : {wide, narrow}) {
    const std::string text = drawing(measured(1), "roofline", width);
    static const std::regex roof(
        R"re(<path d="M([\d.]+) ([\d.]+) L([\d.]+) ([\d.]+) L[\d.]+ ([\d.]+)" class="roof")re");
    static const std::regex point(
        R"re(<circle cx="([^"]*)" cy="([^"]*)" [^>]*class="point[^>]*><title>\d+ (\w+))re");
    const auto roofs = all_of(text, roof);
    ASSERT_EQ(roofs.size(), 1u) << text;
    const auto at = [&](std::size_t i) { return std::stod(roofs[0][i]); };
    const auto points = all_of(text, point);
    ASSERT_EQ(points.size(), rates.size());
    // The roof is flat beyond the ridge; what it is at its start tells the scales.
    EXPECT_EQ(at(4), at(5));
    std::map<std::string, double> ys;
    for (const auto& found : points) ys[found[3]] = std::stod(found[2]);
    ASSERT_EQ(ys.size(), rates.size());
    const Axis up{rates.at("alpha"), rates.at("delta"), ys["alpha"], ys["delta"], true};
    for (const auto& [name, rate] : rates) EXPECT_NEAR(ys[name], up.at(rate), 0.3) << name;
    EXPECT_NEAR(at(4), up.at(arithmetic_gflops), 0.3);
    const double ridge = arithmetic_gflops / memory_gbps;
    const double start =
        ridge * std::pow(up.second / up.first, (at(2) - at(4)) / (up.at_second - up.at_first));
    const Axis across{start, ridge, at(1), at(3), true};
    for (const auto& found : points) EXPECT_NEAR(std::stod(found[1]), across.at(flops / row_bytes), 0.5);
  }
}

}  // namespace
}  // namespace tessera::report
