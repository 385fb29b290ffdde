// SPDX-License-Identifier: Apache-2.0
// TIFF files of kinds that nobody here writes, and ones that lack what their header promises.
#include <gtest/gtest.h>
#include <numeric>
#include "tessera/io/picture.hpp"
#include "tests/tiff_files.hpp"

namespace tessera::picture {
namespace {

using namespace testing;

TiffBytes bytes_of(std::initializer_list<int> values) {
  TiffBytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TiffBytes rising(std::size_t count) {
  TiffBytes out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<std::byte>(i));
  return out;
}

// Where this build reads no TIFF, nothing.
std::optional<Picture> parsed(const TiffBytes& file) {
  try {
    return parse(file, "file");
  } catch (const Error& error) {
    if (std::string(error.what()).find("this build knows no") == std::string::npos) throw;
    return std::nullopt;
  }
}

std::vector<int> values_of(const Picture& picture) {
  std::vector<int> out;
  for (std::int64_t i = 0; i < picture.pixels.view().count(); ++i)
    out.push_back(picture.pixels.as<std::uint8_t>()[i]);
  return out;
}

void expect_values(const TiffBytes& file, const std::vector<int>& wanted) {
  if (const auto picture = parsed(file)) {
    EXPECT_EQ(picture->pixels.element(), Element::u8);
    EXPECT_EQ(values_of(*picture), wanted);
  }
}

void expect_refused(const TiffBytes& file, const std::string& says) {
  try {
    if (parsed(file)) ADD_FAILURE() << says;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Tiff, FewBitsAreStretchedToEight) {
  expect_values(tiff_file({tiff_page(10, 2, 1, 1, 2, {bytes_of({0xa0, 0x40, 0x0f, 0xc0})})}),
                {255, 0, 255, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255});
  expect_values(tiff_file({tiff_page(3, 1, 1, 0, 1, {bytes_of({0xa0})})}), {0, 255, 0});
  expect_values(tiff_file({tiff_page(4, 1, 2, 1, 1, {bytes_of({0x1b})})}), {0, 85, 170, 255});
  expect_values(tiff_file({tiff_page(3, 1, 4, 1, 1, {bytes_of({0x0f, 0x70})})}), {0, 255, 119});
}

TiffPage coloured(std::uint32_t bits, std::uint32_t step, TiffBytes row) {
  const auto width = static_cast<std::uint32_t>(row.size() * 8 / bits);
  TiffPage page = tiff_page(width, 1, bits, 3, 1, {std::move(row)});
  TiffTag map{tiff_colours, {}, true};
  const std::uint32_t colours = 1u << bits;
  for (std::uint32_t part = 0; part < 3; ++part)
    for (std::uint32_t i = 0; i < colours; ++i) map.values.push_back((i + part) % colours * step);
  page.tags.push_back(map);
  return page;
}

TEST(Tiff, PalettesBecomeBytes) {
  expect_values(tiff_file({coloured(8, 257, bytes_of({0, 7, 255}))}), {0, 1, 2, 7, 8, 9, 255, 0, 1});
  expect_values(tiff_file({coloured(8, 256, bytes_of({0, 7, 255}))}), {0, 1, 2, 7, 8, 9, 255, 0, 1});
  expect_values(tiff_file({coloured(8, 1, bytes_of({7}))}), {7, 8, 9});  // bytes already
  expect_values(tiff_file({coloured(4, 4369, bytes_of({0x2f}))}), {34, 51, 68, 255, 0, 17});
  // The upper bits: 300 is 1 · 256 + 44.
  std::vector<int> wanted = {0, 1, 0, 1, 0, 1};
  for (int i = 0; i < 6; ++i) wanted.insert(wanted.end(), {0, 1, 0});
  expect_values(tiff_file({coloured(1, 300, bytes_of({0x40}))}), wanted);
  expect_refused(tiff_file({tiff_page(2, 1, 4, 3, 1, {bytes_of({0})})}), "file");
}

TEST(Tiff, AKindThatLibtiffLacksIsNoDamagedFile) {
  for (const std::uint32_t compression : {6u, 34712u}) {  // JPEG as it was before 1995; JPEG 2000
    TiffPage page = tiff_page(2, 1, 8, 1, 1, {bytes_of({0, 1})});
    for (TiffTag& tag : page.tags)
      if (tag.tag == tiff_compression) tag.values = {compression};
    expect_refused(tiff_file({page}), "file: is a TIFF file of a kind that is not read here: ");
  }
}

TEST(Tiff, TilesAndPlanesComeTogether) {
  // 20 × 3 of two planes in tiles of 16 × 16: four tiles, the second of each plane hangs over the edge.
  TiffPage page{{{tiff_width, {20}},
                 {tiff_height, {3}},
                 {tiff_bits, {8, 8}, true},
                 {tiff_compression, {1}, true},
                 {tiff_photometric, {1}, true},
                 {tiff_samples, {2}, true},
                 {tiff_planes, {2}, true},
                 {tiff_tile_width, {16}},
                 {tiff_tile_height, {16}}},
                {},
                true};
  for (int tile = 0; tile < 4; ++tile) {
    page.blocks.push_back(rising(256));
    for (std::byte& b : page.blocks.back()) b = static_cast<std::byte>(static_cast<int>(b) % 64 + 64 * tile);
  }
  std::vector<int> wanted;
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 20; ++x)
      for (int plane = 0; plane < 2; ++plane)
        wanted.push_back((y * 16 + x % 16) % 64 + 64 * (2 * plane + x / 16));
  expect_values(tiff_file({page}), wanted);
}

TEST(Tiff, WhatIsMissingIsAnError) {
  std::vector<int> whole(20);
  std::iota(whole.begin(), whole.end(), 0);
  expect_values(tiff_file({tiff_page(4, 5, 8, 1, 5, {rising(20)})}), whole);
  expect_refused(tiff_file({tiff_page(4, 60, 8, 1, 20, {rising(80)})}),
                 "of its 3 strips number 2 is missing");
  expect_refused(tiff_file({tiff_page(4, 60, 8, 1, 20, {rising(80), {}, rising(80)})}),
                 "number 2 is missing");
  expect_refused(tiff_file({tiff_page(4, 60, 8, 1, 60, {rising(80)})}), "ends too early");
  expect_refused(tiff_file({tiff_page(8323092, 30, 8, 1, 30, {rising(200)})}), "ends too early");
  TiffPage packed = tiff_page(30000, 15000, 8, 1, 15000, {rising(200)});
  packed.tags[3].values = {5};  // LZW
  expect_refused(tiff_file({packed}), "ends too early");
  packed.tags[3].values = {32773};  // PackBits
  expect_refused(tiff_file({packed}), "ends too early");
  TiffBytes far = tiff_file({tiff_page(4, 5, 8, 1, 5, {rising(20)})});
  for (std::size_t i = 8; i + 12 < far.size(); ++i)  // the entry of the strips' places
    if (far[i] == std::byte{0x11} && far[i + 1] == std::byte{1} && far[i + 2] == std::byte{4})
      far[i + 9] = std::byte{0x40};
  expect_refused(far, "ends too early");
}

TEST(Tiff, TheFirstPageIsRead) {
  const TiffPage one = tiff_page(2, 1, 8, 1, 1, {bytes_of({1, 2})}),
                 other = tiff_page(3, 1, 8, 1, 1, {bytes_of({3, 4, 5})});
  const auto single = parsed(tiff_file({one})), both = parsed(tiff_file({one, other}));
  if (!both) return;
  EXPECT_FALSE(single->first_of_several);
  EXPECT_TRUE(both->first_of_several);
  EXPECT_EQ(values_of(*both), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace tessera::picture
