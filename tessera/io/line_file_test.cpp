// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/line_file.hpp"
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tessera {
namespace {

class LineFile : public testing::Test {
 protected:
  LineFile() { std::filesystem::remove_all(folder_); }
  ~LineFile() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = testing::TempDir() + "lines-" + std::to_string(::getpid());
  std::string file_ = folder_ + "/deeper/file.jsonl";
};

TEST_F(LineFile, GrowsByWholeLines) {
  EXPECT_TRUE(read_lines(file_).empty());
  EXPECT_EQ(append_line(file_, "one"), "");
  EXPECT_EQ(append_line(file_, "two"), "");
  EXPECT_EQ(read_lines(file_), (std::vector<std::string>{"one", "two"}));
}

TEST_F(LineFile, ALineThatWasCutOffHarmsNoOther) {
  EXPECT_EQ(append_line(file_, "one"), "");
  std::ofstream(file_, std::ios::app) << "half a li";
  EXPECT_EQ(append_line(file_, "two"), "");
  EXPECT_EQ(read_lines(file_), (std::vector<std::string>{"one", "half a li", "two"}));
}

TEST_F(LineFile, ManyWritersLoseNothing) {
  constexpr int writers = 8, each = 50;
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w)
      threads.emplace_back([&, w] {
        for (int i = 0; i < each; ++i)
          EXPECT_EQ(append_line(file_, std::to_string(w) + std::string(5000, static_cast<char>('a' + w))),
                    "");
      });
  }
  auto lines = read_lines(file_);
  ASSERT_EQ(lines.size(), std::size_t{writers * each});
  for (const std::string& line : lines) EXPECT_EQ(line.size(), 5001u);
  std::ranges::sort(lines);
  for (int w = 0; w < writers; ++w)
    EXPECT_EQ(lines[static_cast<std::size_t>(w * each)],
              std::to_string(w) + std::string(5000, static_cast<char>('a' + w)));
}

TEST_F(LineFile, SaysWhyNot) {
  EXPECT_NE(append_line("/dev/null/file", "one"), "");
  EXPECT_NE(append_line(testing::TempDir(), "one"), "");
  EXPECT_NE(append_line("/dev/full", "one"), "");
}

}  // namespace
}  // namespace tessera
