// SPDX-License-Identifier: Apache-2.0
// That charts show the numbers: shapes are measured against their own axes, as a reader would.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <tuple>
#include "tessera/core/error.hpp"
#include "tessera/report/page.hpp"

namespace tessera::report {
namespace {

const std::map<std::string, double> rates{{"alpha", 100}, {"beta", 40}, {"gamma", 10}, {"delta", 2.5}};
constexpr double flops = 1e9, bytes = 4e8, memory_gbps = 100, arithmetic_gflops = 1000;

Document measured(double factor) {
  std::string rows;
  for (const auto& [name, gflops] : rates) {
    const double rate = std::pow(gflops, factor), median = flops / rate / 1e9;
    rows += fmt::format(R"({}{{"dims": {{"m": 64}}, "element": "f32", "ladder": "gpu", "place": 1,
      "variant": "{}", "device": "cuda:0", "median": {}, "q1": {}, "q3": {}, "samples": 9, "gflops": {},
      "bytes": {}, "verified": "ok"}})",
                        rows.empty() ? "" : ",", name, median, median, median, rate, bytes);
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

TEST(Drawing, ABarEndsWhereItsValueIsOnTheAxis) {
  for (const double width : {wide, narrow})
    for (const double factor : {0.5, 1.0}) {  // 6 times apart, and 40 times: a linear and a logarithmic axis
      const std::string text = drawing(measured(factor), "ladder", width);
      const Axis axis = axis_across(text);
      EXPECT_EQ(axis.log, factor == 1);
      static const std::regex bar(
          R"re(<rect x="([^"]*)" y="[^"]*" width="([^"]*)" [^>]*class="bar [^>]*><title>\d+ (\w+))re");
      const auto bars = all_of(text, bar);
      ASSERT_EQ(bars.size(), rates.size()) << text;
      for (const auto& found : bars)
        EXPECT_NEAR(std::stod(found[1]) + std::stod(found[2]), axis.at(std::pow(rates.at(found[3]), factor)),
                    0.3)
            << found[3] << " at " << width;
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
    for (const auto& found : points) EXPECT_NEAR(std::stod(found[1]), across.at(flops / bytes), 0.5);
  }
}

// A run of two devices: the second waits 1 ms, computes 3, and waits for the first, which ends at 8.
constexpr const char* shared_run = R"({"schema": 1, "kind": "run", "operation": "product",
  "parts": [{"device": {"label": "cuda:0"}, "parts": 2, "share": 0.75},
            {"device": {"label": "cpu"}, "parts": 1, "share": 0.25, "lost": "it fell off the bus"}],
  "timeline": [{"device": 0, "deed": "copy in", "part": 0, "first": 0, "last": 0.002},
               {"device": 1, "deed": "compute", "part": 1, "first": 0.001, "last": 0.004},
               {"device": 0, "deed": "compute", "part": 0, "first": 0.002, "last": 0.005},
               {"device": 0, "deed": "copy out", "part": 0, "first": 0.006, "last": 0.008}]})";

TEST(Drawing, ATimelineHasASpanForEachDeedAndForAllWaiting) {
  const Document document = parse_document("run.json", shared_run);
  using Span = std::tuple<std::string, double, double>;
  const std::multiset<Span> wanted{{"copy in 0", 0, 2}, {"compute 0", 2, 5}, {"copy out 0", 6, 8},
                                   {"wait", 5, 6},      {"compute 1", 1, 4}, {"wait", 0, 1},
                                   {"wait", 4, 8}};
  for (const double width : {wide, narrow}) {
    const std::string text = drawing(document, "timeline", width);
    const Axis axis = axis_across(text);
    EXPECT_FALSE(axis.log);
    static const std::regex span(
        R"re(<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" [^>]*class="bar[^>]*><title>([^\n<]*)\n([\d.]+) to ([\d.]+) ms)re");
    std::multiset<Span> drawn;
    std::map<std::string, std::set<std::string>> lanes;  // by height: what is in it
    for (const auto& found : all_of(text, span)) {
      const double from = std::stod(found[5]), to = std::stod(found[6]);
      drawn.emplace(found[4], from, to);
      lanes[found[2]].insert(found[4].str().substr(0, found[4].str().find_last_not_of("0123456789 ") + 1));
      EXPECT_NEAR(std::stod(found[1]), axis.at(from), 0.3) << found[4];
      EXPECT_NEAR(std::stod(found[1]) + std::stod(found[3]), axis.at(to), 0.3) << found[4];
    }
    EXPECT_EQ(drawn, wanted) << text;
    EXPECT_EQ(lanes.size(), 6u);  // four of the first device, two of the second
    for (const auto& [y, deeds] : lanes) EXPECT_EQ(deeds.size(), 1u) << y;
    for (const char* label : {">cuda:0<", ">cpu<"}) EXPECT_NE(text.find(label), std::string::npos) << label;
  }
  const std::string html = page({document});
  EXPECT_NE(html.find("cpu (device 1) waited longest: 62.5 %"), std::string::npos);
  EXPECT_NE(html.find("cpu was given up: it fell off the bus."), std::string::npos);
}

TEST(Drawing, ADamagedTimelineIsAnErrorThatNamesThePlace) {
  for (const auto& [right, wrong, place] :
       {std::tuple{R"("device": 1,)", R"("device": 2,)", "timeline[1].device"},
        {R"("first": 0.001)", R"("first": 0.1)", "timeline[1].last"},
        {R"("first": 0.001)", R"("first": -1)", "timeline[1].first"},
        {R"({"label": "cpu"})", R"({"name": "cpu"})", "parts[1].device.label"}}) {
    std::string text = shared_run;
    text.replace(text.find(right), std::string(right).size(), wrong);
    try {
      (void)parse_document("run.json", text);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tessera::report
