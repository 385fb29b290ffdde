// SPDX-License-Identifier: Apache-2.0
// Tests the meaning of words: sizes to try, and files.
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include "tessera/cli/files.hpp"
#include "tessera/cli/sizes.hpp"
#include "tessera/core/text/error.hpp"

namespace tessera::cli {
namespace {

const std::vector<std::string> mnk{"m", "n", "k"};

std::vector<std::int64_t> values(const std::string& word) {
  std::vector<std::int64_t> out;
  for (const Dims& dims : combinations({word}, {"m"})) out.push_back(dims.at("m"));
  return out;
}

TEST(Ranges, AreInclusive) {
  EXPECT_EQ(values("m=2:8:3"), (std::vector<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(values("m=2:9:3"), (std::vector<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(values("m=256:1024:x2"), (std::vector<std::int64_t>{256, 512, 1024}));
  EXPECT_EQ(values("m=4:32:*2"), (std::vector<std::int64_t>{4, 8, 16, 32}));
  EXPECT_EQ(values("m=32,64:128:x2,65536*256"), (std::vector<std::int64_t>{32, 64, 128, 16777216}));
  EXPECT_EQ(values("m=0"), (std::vector<std::int64_t>{0}));
}

TEST(Ranges, ASizeMayDependOnAnother) {
  const auto all = combinations({"k=2*n", "n=m", "m=4,8"}, mnk);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], (Dims{{"m", 4}, {"n", 4}, {"k", 8}}));
  EXPECT_EQ(all[1], (Dims{{"m", 8}, {"n", 8}, {"k", 16}}));
}

TEST(Ranges, EveryCombinationTheFirstSlowest) {
  const auto all = combinations({"m=1,2", "n=3,4", "k=5"}, mnk);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1], (Dims{{"m", 1}, {"n", 4}, {"k", 5}}));
  EXPECT_EQ(all[2], (Dims{{"m", 2}, {"n", 3}, {"k", 5}}));
}

TEST(Ranges, AFactorIsNotASizeCalledX2) { EXPECT_EQ(combinations({"x2=1:4:x2"}, {"x2"}).size(), 3u); }

TEST(Ranges, AxesMayBePaired) {
  const auto all = combinations({"(m,n)=(512,512),(1024,2*(3+k))", "k=4,8"}, mnk);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], (Dims{{"m", 512}, {"n", 512}, {"k", 4}}));
  EXPECT_EQ(all[1], (Dims{{"m", 1024}, {"n", 14}, {"k", 4}}));
  EXPECT_EQ(all[3], (Dims{{"m", 1024}, {"n", 22}, {"k", 8}}));
  EXPECT_EQ(combinations({"(m)=(1),(2)"}, {"m"}).size(), 2u);
  EXPECT_EQ(names_given({"(m,n)=(1,2)", "k=3", "k=4"}), mnk);
  for (const char* word :
       {"(m,n)=1", "(m,n)=(1,2,3)", "(m,n)=(1)", "(m,n)=(1,2)(3,4)", "(m,n)=(1,2),", "(m,m)=(1,2)",
        "(m,n)=(1,-2)", "(m,n=(1,2)", "(m,z)=(1,2)", "(m,n)=((1,2)", "()=(1)", "(m,n)="})
    EXPECT_THROW(combinations({word, "k=1"}, mnk), Error) << word;
  EXPECT_THROW(combinations({"(m,n)=(1,2)", "n=1", "k=1"}, mnk), Error);
}

TEST(Ranges, ReportsErrors) {
  for (const char* word : {"m", "m=", "m=4:2:1", "m=0:4:x2", "m=1:4:x1", "m=1:4:-1", "m=1:2", "m=1:2:3:4",
                           "m=-1", "m=1:1000000:1", "m=q", "z=1", "m=1/0"})
    EXPECT_THROW(combinations({word}, {"m"}), Error) << word;
  EXPECT_THROW(combinations({"m=1"}, mnk), Error);
  EXPECT_THROW(combinations({"m=n", "n=m", "k=1"}, mnk), Error);
  EXPECT_THROW(combinations({"m=1", "m=2"}, {"m"}), Error);
}

using Files = std::vector<std::string>;

class PairedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& text = "") {
    std::ofstream(folder_ + name) << text;
    return folder_ + name;
  }
  // "" if they go together.
  std::string refusal(const std::string& word, const Files& inputs) {
    try {
      (void)paired_files("protect", word, inputs);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::string folder_ =
      (std::filesystem::temp_directory_path() / ("tessera-paired-" + std::to_string(getpid()))).string() +
      "/";
};

TEST_F(PairedFiles, BroadcastsOneFileAndFillsFields) {
  EXPECT_EQ(paired_files("protect", "m.png", {"a.jpg", "b.jpg"}), (Files{"m.png", "m.png"}));
  EXPECT_EQ(paired_files("protect", "m/{name}_mask.png", {"in/a.jpg", "b.jpg"}),
            (Files{"m/a_mask.png", "m/b_mask.png"}));
  const std::string only = put("only.png");
  EXPECT_EQ(paired_files("protect", folder_ + "*.png", {"a.jpg", "b.jpg"}), (Files{only, only}));
}

TEST_F(PairedFiles, PairsSeveralFilesInOrder) {
  const std::string one = put("1.png"), two = put("2.png");
  EXPECT_EQ(paired_files("protect", folder_ + "*.png", {"b.jpg", "a.jpg"}), (Files{one, two}));
  const std::string list = put("list", two + "\n" + one + "\n");
  EXPECT_EQ(paired_files("protect", "@" + list, {"b.jpg", "a.jpg"}), (Files{two, one}));
  const std::string text = refusal(folder_ + "*.png", {"a.jpg", "b.jpg", "c.jpg"});
  EXPECT_NE(text.find("means 2 files for 3 files to be read"), std::string::npos) << text;
  EXPECT_NE(refusal(folder_ + "*.png", {"a.jpg"}).find("means 2 files for 1 file"), std::string::npos);
  EXPECT_EQ(refusal(folder_ + "none*.png", {"a.jpg"}), "'" + folder_ + "none*.png' means no file");
}

}  // namespace
}  // namespace tessera::cli
