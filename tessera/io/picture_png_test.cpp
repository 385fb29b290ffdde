// SPDX-License-Identifier: Apache-2.0
// What libpng only warns of, or says nothing of, is reported or refused.
#include <gtest/gtest.h>
#include "tessera/io/picture.hpp"
#include "tests/png_files.hpp"

namespace tessera::picture {
namespace {

using namespace std::string_literals;

class Png : public testing::Test {
 protected:
  void SetUp() override {
    const Array one(Element::u8, {1, 1, 1});
    try {
      (void)encode("a.png", one.view());
    } catch (const Error&) {
      GTEST_SKIP() << "this build knows no PNG";
    }
  }
};

Picture parsed(const std::string& file) { return parse(std::as_bytes(std::span(file)), "file"); }

std::string said(const std::string& file) {
  try {
    (void)parsed(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

std::vector<int> values(const Picture& picture) {
  const auto* const at = static_cast<const std::uint8_t*>(picture.pixels.view().data);
  return {at, at + picture.pixels.view().count()};
}

// Its last byte belongs to the checksum.
std::string with_wrong_sum(std::string chunk) {
  chunk.back() = static_cast<char>(chunk.back() ^ 1);
  return chunk;
}

const std::string grey = png_header(2, 1, 8, PngKind::grey), grey_rows = "\0\7\11"s,
                  three_colours = png_chunk("PLTE", "\1\2\3\4\5\6\7\10\11");

// libpng takes what memory a chunk asks for before it looks whether the file has so much.
TEST_F(Png, ChunksThatSayMoreThanTheFileHoldsAreRefused) {
  for (const std::string& kind : {"tEXt"s, "iCCP"s, "aaAa"s}) {
    const std::string cut = png_number(0x7fffffff) + kind + "none";
    EXPECT_EQ(said(png_file(grey, cut, grey_rows)), "file: is a damaged PNG file: it ends too early") << kind;
    EXPECT_EQ(said(png_file(grey, "", grey_rows, cut)), "file: is a damaged PNG file: it ends too early")
        << kind;
  }
}

TEST_F(Png, PalettesAreLookedUp) {
  const std::string eight = png_header(3, 2, 8, PngKind::palette),
                    two = png_header(5, 2, 2, PngKind::palette);
  EXPECT_EQ(values(parsed(png_file(eight, three_colours, "\0\2\1\0\0\0\0\1"s))),
            (std::vector{7, 8, 9, 4, 5, 6, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6}));
  // 2 1 0 1 2 / 0 0 1 1 2, four numbers a byte
  const std::string rows = "\0\x91\x80\0\x05\x80"s;
  const Picture opaque = parsed(png_file(two, three_colours, rows));
  EXPECT_FALSE(opaque.alpha);
  EXPECT_EQ(opaque.pixels.extents(), (Extents{2, 5, 3}));
  EXPECT_EQ(values(opaque), (std::vector{7, 8, 9, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9,  //
                                         1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8, 9}));
  const Picture clear = parsed(png_file(two, three_colours + png_chunk("tRNS", "\0\x80"s), rows));
  EXPECT_TRUE(clear.alpha);
  EXPECT_EQ(clear.pixels.extents(), (Extents{2, 5, 4}));
  EXPECT_EQ(values(clear),
            (std::vector{7, 8, 9, 255, 4, 5, 6, 128, 1, 2, 3, 0,   4, 5, 6, 128, 7, 8, 9, 255,  //
                         1, 2, 3, 0,   1, 2, 3, 0,   4, 5, 6, 128, 4, 5, 6, 128, 7, 8, 9, 255}));
}

TEST_F(Png, AColourBeyondThePaletteIsAnError) {
  const std::string rows = "\0\0\3"s;
  EXPECT_EQ(said(png_file(png_header(2, 1, 8, PngKind::palette), three_colours, rows)),
            "file: is a damaged PNG file: it has a pixel of colour 3, but its palette has 3");
  EXPECT_EQ(said(png_file(png_header(3, 1, 2, PngKind::palette), three_colours, "\0\x1c"s)),
            "file: is a damaged PNG file: it has a pixel of colour 3, but its palette has 3");
  EXPECT_NE(said(png_file(png_header(2, 1, 8, PngKind::palette), "", rows)).find("damaged"),
            std::string::npos);
}

TEST_F(Png, TransparencyThatDoesNotFitIsAnError) {
  EXPECT_EQ(values(parsed(png_file(grey, png_chunk("tRNS", "\0\7"s), grey_rows))),
            (std::vector{7, 0, 9, 255}));
  for (const std::string& length : {""s, "\0"s, "\0\7\0"s, "\0\7\0\0\0\0"s})
    EXPECT_NE(
        said(png_file(grey, png_chunk("tRNS", length), grey_rows)).find("file: is a damaged PNG file: tRNS"),
        std::string::npos)
        << length.size();
  const std::string rows = "\0\0\1"s, palette = png_header(2, 1, 8, PngKind::palette);
  EXPECT_NE(said(png_file(palette, three_colours + png_chunk("tRNS", "\0\0\0\0"s), rows)).find("tRNS"),
            std::string::npos);
  EXPECT_NE(said(png_file(palette, three_colours, rows, png_chunk("tRNS", "\0"s))).find("tRNS"),
            std::string::npos);
}

TEST_F(Png, EveryChecksumCounts) {
  EXPECT_EQ(values(parsed(png_file(grey, png_chunk("tEXt", "a\0b"s), grey_rows, png_chunk("abCd", "x")))),
            (std::vector{7, 9}));
  for (const char* kind : {"tEXt", "iCCP", "tRNS", "gAMA", "abCd"}) {
    const std::string broken = with_wrong_sum(png_chunk(kind, "a\0b"s));
    EXPECT_NE(
        said(png_file(grey, broken, grey_rows)).find("file: is a damaged PNG file: " + std::string(kind)),
        std::string::npos)
        << kind;
    EXPECT_NE(said(png_file(grey, "", grey_rows, broken)).find("CRC"), std::string::npos) << kind;
  }
}

TEST_F(Png, AProfileThatIsLostIsReported) {
  EXPECT_FALSE(parsed(png_file(grey, "", grey_rows)).profile_lost);
  for (const std::string& data : {"a\0\0no stream"s, "a\0\0"s + png_stream("no profile"), ""s}) {
    const Picture picture = parsed(png_file(grey, png_chunk("iCCP", data), grey_rows));
    EXPECT_TRUE(picture.profile_lost) << data;
    EXPECT_TRUE(picture.profile.empty());
    EXPECT_EQ(values(picture), (std::vector{7, 9}));
  }
}

TEST_F(Png, AnAnimationIsReportedAsSeveralPictures) {
  const std::string two_frames = png_chunk("acTL", "\0\0\0\2\0\0\0\0"s);
  EXPECT_FALSE(parsed(png_file(grey, "", grey_rows)).first_of_several);
  EXPECT_TRUE(parsed(png_file(grey, two_frames, grey_rows)).first_of_several);
}

}  // namespace
}  // namespace tessera::picture
