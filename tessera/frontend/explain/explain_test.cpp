// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/explain/explain.hpp"
#include <gtest/gtest.h>
#include "tessera/core/text/error.hpp"

namespace tessera::frontend {
namespace {

Json site(int line, const char* space, const char* act, const char* array, int requests, int sectors,
          int wavefronts) {
  const bool global = std::string(space) == "global";
  return {{"file", "made_up.cu"},
          {"line", line},
          {"space", space},
          {"act", act},
          {"width", 4},
          {"array", array},
          {"requests", requests},
          {"divergent", 0},
          {"accesses", 32 * requests},
          {"bytes", 128 * requests},
          {"distinct_bytes", 128 * requests},
          {"sectors", sectors},
          {"ideal_sectors", global ? 4 * requests : 0},
          {"wavefronts", wavefronts},
          {"ideal_wavefronts", global ? 0 : requests}};
}

Json launch(int number, const char* kernel, Json sites) {
  return {{"record", "launch"},
          {"number", number},
          {"kernel", kernel},
          {"file", "made_up.cu"},
          {"line", 40},
          {"grid", {4, 1, 1}},
          {"block", {256, 1, 1}},
          {"error", nullptr},
          {"blocks", 4},
          {"blocks_traced", 4},
          {"occupancy", {{"fraction", 1.0}, {"limit", "threads"}}},
          {"sites", std::move(sites)}};
}

TEST(Explain, LaunchesThatDifferInTheirNumberAloneAreOneGroup) {
  Record record;
  record.launches = {launch(1, "f", Json::array()), launch(2, "f", {site(3, "global", "read", "a", 2, 8, 0)}),
                     launch(3, "g", Json::array())};
  record.repeated[2] = 10;
  const auto groups = groups_of(record);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].times, 12);
  EXPECT_EQ(groups[0].launch->at("number"), 2) << "the one that was traced stands for all";
}

TEST(Explain, AccessesOfALineToAnArrayAreAddedInTheOrderOfTheSource) {
  const Json of = launch(1, "f",
                         {site(9, "global", "read", "a", 1, 4, 0), site(3, "global", "read", "a", 2, 8, 0),
                          site(9, "global", "read", "a", 1, 32, 0), site(9, "global", "read", "b", 1, 4, 0)});
  const auto costs = costs_of(of);
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].line, 3);
  EXPECT_EQ(costs[1].array, "a");
  EXPECT_EQ(costs[1].sectors, 36);
  EXPECT_EQ(costs[2].array, "b");
}

TEST(Explain, CostsThatCanBeAvoidedAreNamedWithLineAndRemedy) {
  Record record;
  Json tile = site(5, "shared", "read", "tile", 8, 0, 256);
  tile["dearest"] = {{"cost", 32}, {"block", {0, 0, 0}}, {"warp", 0},           {"offsets", Json::array()},
                     {"start", 0}, {"element_bytes", 4}, {"array_bytes", 4096}, {"extents", {32, 32}}};
  record.launches = {
      launch(1, "f",
             {site(3, "global", "read", "a", 8, 256, 0), site(4, "global", "read", "b", 8, 40, 0), tile,
              site(6, "shared", "read", "padded", 8, 0, 8)})};
  const auto advice = advice_of(groups_of(record));
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_EQ(advice[0].what, "uncoalesced");
  EXPECT_EQ(advice[0].line, 3);
  EXPECT_EQ(advice[1].what, "bank_conflicts");
  EXPECT_EQ(advice[1].line, 5);
  EXPECT_NE(advice[1].remedy.find("pad the rows of tile"), std::string::npos);
}

TEST(Explain, AdviceSuitsTheAccess) {
  Json one_lane = site(3, "global", "write", "sums", 100, 100, 0);
  one_lane["divergent"] = one_lane["accesses"] = 100;
  Json half = one_lane;
  half["line"] = 4;
  half["accesses"] = 1600;
  half["spaced"] = 100;
  Json uniform = site(5, "global", "read", "sums", 100, 100, 0);
  uniform["distinct_bytes"] = 400;
  uniform["array_bytes"] = 40;
  Json table = uniform;
  table["array"] = "table";
  Json counts = site(6, "global", "atomic", "counts", 100, 2000, 0);
  Json line = site(7, "shared", "read", "buffer", 8, 0, 256);
  line["dearest"] = {{"cost", 32}, {"block", {0, 0, 0}}, {"warp", 0},           {"offsets", Json::array()},
                     {"start", 0}, {"element_bytes", 4}, {"array_bytes", 4096}, {"extents", {1024}}};
  Record record;
  record.launches = {launch(1, "f", {one_lane, half, uniform, table, counts, line})};
  std::string reported;
  for (const Advice& advice : advice_of(groups_of(record)))
    reported +=
        std::to_string(advice.line) + " " + advice.what + " " + advice.array + ": " + advice.remedy + "\n";
  EXPECT_EQ(reported,
            "4 divergent sums: let whole warps take the branch: choose the threads by a contiguous range\n"
            "5 repeated_loads table: declare table as __constant__\n"
            "6 uncoalesced counts: let each block update a copy of counts in __shared__ memory, and add that "
            "to it at the "
            "end\n"
            "7 bank_conflicts buffer: let neighbouring lanes take neighbouring elements of buffer, or put "
            "element i at "
            "i + i / 32\n");
}

TEST(Explain, TwoKernelsAreComparedInWords) {
  Record record;
  record.launches = {launch(1, "slow<float>", {site(3, "global", "read", "a", 8, 256, 0)}),
                     launch(2, "quick", {site(7, "global", "read", "a", 8, 32, 0)})};
  const auto groups = groups_of(record);
  const std::string text = why_text(groups, "slow", "quick");
  EXPECT_NE(text.find("quick against slow<float>:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("sectors per request: 32.00 → 4.000 (8.000 times fewer); most at made_up.cu:3, a"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Conclusion: quick moves 8 times less in global memory (1 KiB instead of 8 KiB): a "
                      "read takes 4 sectors a request, in slow<float> 32, most at made_up.cu:3 (a).\n"),
            std::string::npos)
      << text;
  EXPECT_THROW(why_text(groups, "quick", "quick"), Error);
  EXPECT_THROW(why_text(groups, "absent", "quick"), Error);
}

TEST(Explain, SummarizesTheAdvantagesOfEitherKernel) {
  Record record;
  record.launches = {
      launch(1, "naive", {site(3, "global", "read", "a", 100, 3200, 0)}),
      launch(2, "tiled",
             {site(7, "global", "read", "a", 100, 400, 0), site(9, "shared", "read", "t", 20, 0, 640)}),
      launch(3, "padded",
             {site(7, "global", "read", "a", 100, 400, 0), site(9, "shared", "read", "t", 20, 0, 20)})};
  const auto groups = groups_of(record);
  const auto summary = [&](const char* before, const char* after) {
    const std::string text = why_text(groups, before, after);
    return text.substr(std::min(text.size(), text.find("Conclusion")));
  };
  EXPECT_EQ(
      summary("naive", "tiled"),
      "Conclusion: tiled moves 8 times less in global memory (12.5 KiB instead of 100 KiB): a read takes "
      "4 sectors a request, in naive 32, most at made_up.cu:3 (a).\nAgainst that, naive has no bank "
      "conflicts where tiled has 620, most at made_up.cu:9 (t).\n");
  EXPECT_EQ(summary("tiled", "padded"),
            "Conclusion: padded has no bank conflicts where tiled has 620, most at made_up.cu:9 (t).\n");
  record.launches[1] = launch(2, "alike", {site(3, "global", "read", "a", 100, 3200, 0)});
  EXPECT_NE(why_text(groups_of(record), "naive", "alike").find("Conclusion: both ask the same of memory."),
            std::string::npos);
}

TEST(Explain, PrintsAMistakeWithItsLocationAndARemedy) {
  const std::string text = to_string(remarks_of(std::vector<Json>{{{"what", "leak"},
                                                                   {"serious", false},
                                                                   {"text", "d_a is not freed"},
                                                                   {"file", "made_up.cu"},
                                                                   {"line", 12},
                                                                   {"times", 3}}}));
  EXPECT_EQ(text, "made_up.cu:12: warning: leak: d_a is not freed (3 times)\n    remedy: free it\n");
}

}  // namespace
}  // namespace tessera::frontend
