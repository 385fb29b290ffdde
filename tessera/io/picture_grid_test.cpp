// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/picture_grid.hpp"
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>

namespace tessera::picture {
namespace {

class Grid : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in(const std::string& name) const { return folder_ + "/" + name; }

  void put(const std::string& name, std::uint8_t value, std::int64_t width = 3) const {
    const Array pixels(Element::u8, {2, width, 1});
    std::fill_n(static_cast<std::uint8_t*>(pixels.view().data), 2 * width, value);
    write(in(name), pixels.view());
  }

  void put_all() const {
    for (int row = 1; row < 3; ++row)
      for (int col = 8; col < 11; ++col)
        put("v_0" + std::to_string(row) + "_" + std::to_string(col) + ".pgm",
            static_cast<std::uint8_t>(10 * row + col));
  }

  std::string folder_ = testing::TempDir() + "tessera_grid";
};

template <class F>
std::string said(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST_F(Grid, NamesSayThePlace) {
  put_all();
  put("v_note.pgm", 0);
  const GridFiles files = find_grid(in("*_{row}_{col}.pgm"));
  EXPECT_EQ(files.rows, 2);
  EXPECT_EQ(files.cols, 3);
  const Picture grid = read_grid(files, false);
  EXPECT_EQ(grid.pixels.extents(), (Extents{2, 3, 2, 3, 1}));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(static_cast<const std::uint8_t*>(grid.pixels.view().data)[6 * i + 5],
              10 * (1 + i / 3) + 8 + i % 3);
  const GridFiles turned = find_grid(in("v_{col}_{row}.pgm"));
  EXPECT_EQ(turned.rows, 3);
  EXPECT_EQ(turned.paths[1], files.paths[3]);
}

TEST_F(Grid, StarsLeaveNumbersWhole) {
  for (int row = 8; row < 12; ++row) put("v" + std::to_string(row) + "_0.pgm", 0);
  for (const char* pattern : {"*{row}_{col}.pgm", "v{row}_{col}*", "*{row}_{col}*"}) {
    const GridFiles files = find_grid(in(pattern));
    EXPECT_EQ(files.rows, 4) << pattern;
    EXPECT_EQ(files.cols, 1) << pattern;
  }
}

TEST_F(Grid, NumbersMayBeLong) {
  for (const char* name :
       {"f_2024010100000_0.pgm", "f_2024010100001_0.pgm", "f_02024010100002_0000000000000000000000.pgm"})
    put(name, 0);
  const GridFiles files = find_grid(in("f_{row}_{col}.pgm"));
  EXPECT_EQ(files.rows, 3);
  EXPECT_EQ(files.cols, 1);
  EXPECT_EQ(files.paths[2], in("f_02024010100002_0000000000000000000000.pgm"));
  put("f_1999999999_0.pgm", 0);
  EXPECT_NE(said([&] { find_grid(in("f_{row}_{col}.pgm")); }).find("more than 4096"), std::string::npos);
  put("g_1_1.pgm", 0);
  put("g_1234567890123456789_1.pgm", 0);
  EXPECT_NE(said([&] {
              find_grid(in("g_{row}_{col}.pgm"));
            }).find("g_1234567890123456789_1.pgm: the number 1234567890123456789 has more than 18 digits"),
            std::string::npos);
}

TEST_F(Grid, NoNumberIsLeftOutOrCut) {
  put("v_0_1.pgm", 0);
  put("v_-1_1.pgm", 0);
  EXPECT_NE(said([&] { find_grid(in("v_{row}_{col}.pgm")); }).find("v_-1_1.pgm: -1 is no place in a grid"),
            std::string::npos);
  EXPECT_NE(said([&] { names_grid("v{row}{col}.pgm"); }).find("something between"), std::string::npos);
  put("w12.pgm", 0);
  put("w3x4.pgm", 0);
  EXPECT_EQ(find_grid(in("w{row}*{col}.pgm")).paths, std::vector{in("w3x4.pgm")});
}

TEST_F(Grid, WhatFollowsAnyViewIsReported) {
  put("v_0_0.pgm", 0);
  put("v_0_1.pgm", 0);
  const GridFiles files = find_grid(in("v_{row}_{col}.pgm"));
  EXPECT_FALSE(read_grid(files, false).bytes_behind);
  std::ofstream(files.paths[1], std::ios::app) << "more";
  EXPECT_TRUE(read_grid(files, false).bytes_behind);
  EXPECT_FALSE(read_grid(files, false).first_of_several);
}

TEST_F(Grid, WhatIsMissingOrTwiceIsReported) {
  put_all();
  std::filesystem::remove(in("v_02_9.pgm"));
  const std::string pattern = in("*_{row}_{col}.pgm");
  EXPECT_NE(
      said([&] { find_grid(pattern); }).find("lacks 1 of 2 × 3 views; the first is that of row 2, column 9"),
      std::string::npos);
  put("v_02_9.pgm", 1);
  put("v_2_09.pgm", 1);
  EXPECT_NE(said([&] { find_grid(pattern); }).find("are both the view of row 2, column 9"),
            std::string::npos);
  EXPECT_NE(said([&] { find_grid(in("w_{row}_{col}.pgm")); }).find("means no file"), std::string::npos);
  EXPECT_NE(said([&] { names_grid("{row}.png"); }).find("once each"), std::string::npos);
  EXPECT_NE(said([&] { names_grid("{row}{col}{row}"); }).find("once each"), std::string::npos);
  EXPECT_FALSE(names_grid("row.png"));
}

TEST_F(Grid, ViewsAreAlike) {
  put_all();
  put("v_02_8.pgm", 1, 4);
  EXPECT_NE(said([&] { read_grid(find_grid(in("*_{row}_{col}.pgm")), false); }).find("2 × 4 × 1 of u8, but"),
            std::string::npos);
  std::ofstream(in("v_02_8.pgm")) << "P5\n3 2\n255\n";
  EXPECT_NE(said([&] { read_grid(find_grid(in("*_{row}_{col}.pgm")), false); }).find("is damaged"),
            std::string::npos);
  put("v_02_8.pgm", 1);
  EXPECT_NE(said([&] {
              read_grid(find_grid(in("*_{row}_{col}.pgm")), false, {.bytes = 35});
            }).find("more than the limit of 35"),
            std::string::npos);
}

TEST_F(Grid, TilesOfOnePicture) {
  Picture whole;
  whole.pixels = Array(Element::u8, {4, 6, 1});
  for (int i = 0; i < 24; ++i) whole.pixels.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const Picture cut = cut_tiles(whole, "2x3", "p");
  EXPECT_EQ(cut.pixels.extents(), (Extents{2, 3, 2, 2, 1}));
  EXPECT_EQ(cut.pixels.as<std::uint8_t>()[4 * 4 + 3], 21);  // the last pixel of row 1, column 1
  for (const char* tiles : {"2", "0x3", "2x-1", "2x3x1", "x", "2x4"})
    EXPECT_NE(said([&] { cut_tiles(whole, tiles, "p"); }), "nothing") << tiles;
}

}  // namespace
}  // namespace tessera::picture
