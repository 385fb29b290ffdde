// SPDX-License-Identifier: Apache-2.0
// What is drawn of a request is what was counted of it.
#include "tessera/frontend/explain/trace_page.hpp"
#include <gtest/gtest.h>
#include "tessera/simt/tracer/recorder.hpp"

namespace tessera::frontend {
namespace {

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++out;
  return out;
}

LineCost request(const char* space, std::int64_t width, std::int64_t stride, std::int64_t start = 0) {
  LineCost out;
  out.space = space;
  out.act = "read";
  out.array = "a<b>";
  out.requests = 1;
  out.costliest.cost = 1;
  out.costliest.width = width;
  out.costliest.block = {0, 0, 0};
  for (std::int64_t lane = 0; lane < 32; ++lane) out.costliest.offsets.push_back(lane * stride);
  out.costliest.start = start;
  out.costliest.element_bytes = width;
  out.costliest.array_bytes = 1 << 20;
  return out;
}

std::string drawn(const LineCost& cost) {
  const report::Chart chart = request_chart(cost, "made-up");
  return chart.drawn(report::wide, "made-up").inline_text("chart");
}

TEST(TracePage, AFloatOfEachPairTouchesEightSectors) {
  const std::string svg = drawn(request("global", 4, 8));
  EXPECT_EQ(times(svg, "\"sector\""), 8u);
  EXPECT_EQ(times(svg, "\"wanted\""), 32u);
  EXPECT_NE(svg.find("lane 31: a&lt;b&gt;[62], bytes 248 to 251"), svg.npos) << svg;
}

TEST(TracePage, SectorsAreThoseThatTheTracerCounts) {
  for (const int width : {1, 2, 4, 8, 16})
    for (const int stride : {0, 1, 2, 3, 5, 32, 4096})
      for (const int start : {0, 16, 112}) {
        simt::LaneAddresses address{};
        for (std::size_t lane = 0; lane < address.size(); ++lane)
          address[lane] = static_cast<std::uint64_t>(start + width * stride * static_cast<int>(lane));
        const auto cost = simt::global_cost(address, ~0u, static_cast<unsigned>(width));
        EXPECT_EQ(times(drawn(request("global", width, width * stride, start)), "\"sector\""), cost.sectors)
            << width << " " << stride << " " << start;
      }
}

TEST(TracePage, WavefrontsAreThoseThatTheTracerCounts) {
  for (const int width : {1, 2, 4, 8, 16})
    for (const int stride : {0, 1, 2, 3, 32, 33}) {
      simt::LaneAddresses address{};
      for (std::size_t lane = 0; lane < address.size(); ++lane)
        address[lane] = static_cast<std::uint64_t>(width * stride * static_cast<int>(lane));
      const auto cost = simt::shared_cost(address, ~0u, static_cast<unsigned>(width));
      EXPECT_EQ(times(drawn(request("shared", width, width * stride)), ">wavefront "), cost.wavefronts)
          << width << " " << stride;
    }
}

TEST(TracePage, NamesInactiveLanes) {
  LineCost cost = request("global", 4, 4);
  for (std::size_t lane = 0; lane < 32; ++lane)
    if (lane != 3 && lane != 4 && lane != 9) cost.costliest.offsets[lane] = -1;
  const report::Chart chart = request_chart(cost, "made-up");
  EXPECT_NE(chart.description.find("Lanes 3, 4, 9 read 4 bytes each, from a<b>[3] to a<b>[9]."),
            std::string::npos)
      << chart.description;
  EXPECT_EQ(chart.table.lines.size(), 3u);
  EXPECT_NE(drawn(cost).find("lane 5 takes no part"), std::string::npos);
}

}  // namespace
}  // namespace tessera::frontend
