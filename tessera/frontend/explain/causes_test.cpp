// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "tessera/frontend/explain/causes.hpp"

namespace tessera::frontend {
namespace {

using Json = nlohmann::ordered_json;

Json race(int line, int other, const char* scope, std::initializer_list<const char*> flags) {
  Json out = {{"what", "race"},      {"serious", true},     {"file", "made_up.cu"},
              {"line", line},        {"other_line", other}, {"scope", scope},
              {"kernel", "made_up"}, {"array", "a"},        {"launch", 1}};
  for (const std::string flag : flags)
    if (flag == "reads") out["read_line"] = other;
    else if (flag == "both_write") out["both_write"] = out["together"] = 1;
    else out[flag] = true;
  return out;
}

std::vector<Json> merged(const std::vector<Json>& races, std::initializer_list<int> barriers = {},
                         bool cooperative = false) {
  Json launch = {{"number", 1}, {"cooperative", cooperative}, {"barriers", Json::array()}};
  for (const int line : barriers) launch["barriers"].push_back({{"line", line}});
  return by_cause(races, {launch});
}

std::string remedy(const std::vector<Json>& races, std::initializer_list<int> barriers = {},
                   bool cooperative = false) {
  const auto out = merged(races, barriers, cooperative);
  return out.size() == 1 ? out[0].at("remedy").get<std::string>() : std::to_string(out.size()) + " causes";
}

TEST(Causes, ABarrierIsMissingBetweenTwoLines) {
  EXPECT_EQ(remedy({race(8, 11, "block", {"is_first", "reads"}),
                    race(13, 9, "block", {"other_is_first", "reads"})}),
            "put __syncthreads() between line 9 and line 11, where all threads of the block reach it");
  EXPECT_EQ(remedy({race(8, 11, "warp", {"is_first", "reads"})}),
            "put __syncwarp() between line 8 and line 11, where all lanes of the warp reach it");
}

TEST(Causes, ABarrierIsMissingAtTheEndOfALoop) {
  const Json next_step = race(7, 11, "block", {"other_is_first", "read_first", "reads"});
  EXPECT_EQ(remedy({next_step}, {9}),
            "put __syncthreads() at the end of the body of the loop that repeats lines 7 to 11, where all "
            "threads of "
            "the block reach it");
  EXPECT_EQ(
      remedy({next_step}),
      "put __syncthreads() between line 7 and line 11, and, if a loop repeats them, at the end of its body, "
      "where all threads of the block reach it");
  EXPECT_EQ(
      remedy({race(21, 21, "warp", {"write_first", "reads"})}),
      "put __syncwarp() at the end of the body of the loop that repeats line 21, where all lanes of the warp "
      "reach it");
}

TEST(Causes, ALineThatReadsWhatItsNeighboursWriteNeedsAVariable) {
  EXPECT_EQ(
      remedy({race(5, 5, "block", {"read_first", "reads"})}),
      "line 5: read into a variable, call __syncthreads(), write, and call __syncthreads() again, where all "
      "threads of the block reach it");
}

TEST(Causes, WritersOfDifferentIterationsNeedABarrier) {
  Json swap = race(12, 12, "block", {"both_write"});
  swap["both_write"] = 800;
  EXPECT_EQ(remedy({swap}),
            "two threads write one element: correct the indices; if both are meant, put __syncthreads() at "
            "the end of "
            "the body of the loop that repeats line 12, where all threads of the block reach it");
}

TEST(Causes, ATemplateHasOneMistake) {
  Json other = race(8, 11, "block", {"is_first", "reads"});
  other["kernel"] = "made_up<double>";
  EXPECT_EQ(merged({race(8, 11, "block", {"is_first", "reads"}), other}).size(), 1u);
}

TEST(Causes, AnArrayThatBlocksShareHasOneFinding) {
  EXPECT_NE(remedy({race(5, 6, "block", {"is_first", "reads"}), race(6, 5, "grid", {"reads"})})
                .find("read from one"),
            std::string::npos);
}

TEST(Causes, BlocksNeedAtomicsFencesOrLaunches) {
  EXPECT_NE(remedy({race(5, 5, "grid", {"reads", "both_write"})}).find("use an atomic"), std::string::npos);
  EXPECT_EQ(remedy({race(5, 5, "grid", {"both_write"})}),
            "let one thread of all blocks write it, or use an atomic; if each thread was to write an element "
            "of its own, correct the index");
  EXPECT_NE(remedy({race(5, 9, "grid", {"reads"})}).find("between line 5 and line 9"), std::string::npos);
  EXPECT_NE(remedy({race(9, 5, "grid", {"reads"})}).find("read from one array"), std::string::npos);
  EXPECT_NE(remedy({race(5, 5, "grid", {"reads"})}).find("read from one array and write to another"),
            std::string::npos);
  EXPECT_NE(remedy({race(5, 9, "grid", {"reads"})}, {}, true).find("grid.sync()"), std::string::npos);
  Json message = race(8, 5, "grid", {"reads"});
  message["release_line"] = 6;
  EXPECT_EQ(remedy({message}),
            "the atomic of line 6 orders nothing without a fence: __threadfence() before it, after line 5");
}

TEST(Causes, ALineOfManyWritersHasOneFinding) {
  Json same = race(5, 5, "block", {});
  same["serious"] = false;
  EXPECT_EQ(merged({race(5, 5, "block", {"reads", "both_write"}), race(5, 5, "block", {"both_write"}), same})
                .size(),
            1u);
  EXPECT_EQ(merged({same}).size(), 1u);
  EXPECT_EQ(merged({race(5, 5, "block", {"reads", "both_write"}), race(5, 9, "block", {"reads", "is_first"})})
                .size(),
            2u);
}

TEST(Causes, WhatIsReadTooEarlyIsTheSameMistake) {
  const Json early = {{"what", "uninitialised"}, {"kernel", "made_up"}, {"array", "a"}, {"line", 9}};
  EXPECT_EQ(merged({early, race(8, 9, "block", {"is_first", "reads"})}).size(), 1u);
  EXPECT_EQ(merged({early}).size(), 1u);
  EXPECT_EQ(merged({early, race(18, 19, "block", {"is_first", "reads"})}).size(), 2u);
}

TEST(Causes, SeparatePlacesAreSeparateMistakes) {
  EXPECT_EQ(merged({race(8, 9, "block", {"is_first", "reads"}), race(18, 19, "block", {"is_first", "reads"})})
                .size(),
            2u);
  const auto chained =
      merged({race(8, 9, "block", {"is_first", "reads"}), race(11, 12, "block", {"is_first", "reads"}),
              race(9, 11, "block", {"is_first", "reads"})});
  ASSERT_EQ(chained.size(), 1u);
  EXPECT_EQ(chained[0].at("also").size(), 2u);
}

TEST(Causes, AThreadThatLeavesSeveralArraysHasOneFinding) {
  const auto beside = [](const char* array, int line, int thread) {
    return Json{{"what", "out of bounds"}, {"kernel", "made_up"}, {"launch", 1},
                {"block", {0, 0, 0}},      {"array", array},      {"line", line},
                {"thread", {thread, 0, 0}}};
  };
  const auto out = merged({beside("a", 3, 100), beside("b", 4, 100), beside("c", 5, 7)});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].at("also"), Json::array({"line 4 (b)"}));
}

}  // namespace
}  // namespace tessera::frontend
