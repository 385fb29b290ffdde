// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/file_names.hpp"
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

using Files = std::vector<std::string>;

class PairedFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& text = "") {
    std::ofstream(folder_ + name) << text;
    return folder_ + name;
  }
  // "" where they go together.
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

TEST_F(PairedFiles, OneServesAllAndFieldsAreFilled) {
  EXPECT_EQ(paired_files("protect", "m.png", {"a.jpg", "b.jpg"}), (Files{"m.png", "m.png"}));
  EXPECT_EQ(paired_files("protect", "m/{name}_mask.png", {"in/a.jpg", "b.jpg"}),
            (Files{"m/a_mask.png", "m/b_mask.png"}));
  const std::string only = put("only.png");
  EXPECT_EQ(paired_files("protect", folder_ + "*.png", {"a.jpg", "b.jpg"}), (Files{only, only}));
}

TEST_F(PairedFiles, NamesTellMoreThanTheOrder) {
  const std::string a = put("a.png"), b = put("b.png");
  EXPECT_EQ(paired_files("protect", folder_ + "*.png", {"in/b.jpg", "in/a.jpg"}), (Files{b, a}));
  put("c.png");  // one that nobody needs
  EXPECT_EQ(paired_files("protect", folder_ + "*.png", {"in/b.jpg", "in/a.jpg"}), (Files{b, a}));
  EXPECT_EQ(
      refusal(folder_ + "*.png", {"in/b.jpg", "in/a.jpg", "in/d.jpg"}),
      "--protect: none of its 3 files is called as in/d.jpg is, though others are called as their inputs");
}

TEST_F(PairedFiles, WithoutACommonNameAsManyInTheirOrder) {
  const std::string one = put("1.png"), two = put("2.png");
  EXPECT_EQ(paired_files("protect", folder_ + "*.png", {"b.jpg", "a.jpg"}), (Files{one, two}));
  const std::string list = put("list", two + "\n" + one + "\n");
  EXPECT_EQ(paired_files("protect", "@" + list, {"b.jpg", "a.jpg"}), (Files{two, one}));
  const std::string text = refusal(folder_ + "*.png", {"a.jpg", "b.jpg", "c.jpg"});
  EXPECT_NE(text.find("means 2 files for 3 files to be read, none called alike"), std::string::npos) << text;
  EXPECT_NE(refusal(folder_ + "*.png", {"a.jpg"}).find("means 2 files for 1 file"), std::string::npos);
}

TEST_F(PairedFiles, NamesThatDoNotTellThemApartAreNoNames) {
  std::filesystem::create_directories(folder_ + "x");
  std::filesystem::create_directories(folder_ + "y");
  const std::string x = put("x/a.png"), y = put("y/a.png");
  EXPECT_EQ(paired_files("protect", folder_ + "*/a.png", {"in/a.jpg", "other/a.jpg"}), (Files{x, y}));
  EXPECT_EQ(refusal(folder_ + "none*.png", {"a.jpg"}), "'" + folder_ + "none*.png' means no file");
}

}  // namespace
}  // namespace tessera::cli
