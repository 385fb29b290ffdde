// SPDX-License-Identifier: Apache-2.0
// Pictures are equal after they are written and read in every format, and damaged files only cause errors.
#include "tessera/io/picture.hpp"
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include "tessera/core/array/random.hpp"
#include "tessera/io/picture_codec.hpp"
#include "tests/png_files.hpp"
#include "tests/tiff_files.hpp"

namespace tessera::picture {
namespace {

struct Kind {
  const char* name;  // of a file
  Element element;
  std::int64_t channels;
  bool alpha = false;
};

const Kind kinds[] = {
    {"a.png", Element::u8, 1},        {"a.png", Element::u8, 2, true}, {"a.png", Element::u8, 3},
    {"a.png", Element::u8, 4, true},  {"a.png", Element::u16, 1},      {"a.png", Element::u16, 4, true},
    {"a.jpg", Element::u8, 1},        {"a.jpeg", Element::u8, 3},      {"a.tif", Element::u8, 1},
    {"a.tiff", Element::u8, 3},       {"a.tif", Element::u8, 4, true}, {"a.tif", Element::u16, 3},
    {"a.tif", Element::i16, 1},       {"a.tif", Element::f16, 3},      {"a.tif", Element::f32, 1},
    {"a.tif", Element::f32, 4, true}, {"a.tif", Element::u8, 2},       {"a.pgm", Element::u8, 1},
    {"a.pgm", Element::u16, 1},       {"a.ppm", Element::u8, 3},       {"a.pnm", Element::u16, 3},
    {"a.pfm", Element::f32, 1},       {"a.pfm", Element::f32, 3},
};

// Makes a smooth picture with some noise, which JPEG can represent, with bytes of every value.
Array made(Element element, std::int64_t height, std::int64_t width, std::int64_t channels) {
  Array out(element, {height, width, channels});
  Random random(7);
  const double full = element == Element::u8    ? 255
                      : element == Element::u16 ? 65535
                      : element == Element::i16 ? 32767
                                                : 1;
  char* at = out.as<char>();
  for (std::int64_t i = 0; i < out.view().count(); ++i, at += size_of(element)) {
    const auto x = static_cast<double>(i / channels % width), y = static_cast<double>(i / channels / width);
    const double part = (x / static_cast<double>(width) + y / static_cast<double>(height)) / 2 * 0.9 +
                        static_cast<double>(random.below(100)) * 0.001;
    store_from_double(element, at, part * full);
  }
  return out;
}

std::optional<Bytes> encoded(const Kind& kind, const Array& pixels, const Style& style) {
  try {
    return encode(kind.name, pixels.view(), style);
  } catch (const Error& error) {
    if (std::string(error.what()).find("this build does not support") == std::string::npos) throw;
    return std::nullopt;
  }
}

void expect_same(const Array& a, const Array& b) {
  ASSERT_EQ(a.extents(), b.extents());
  ASSERT_EQ(a.element(), b.element());
  EXPECT_EQ(std::memcmp(a.as<char>(), b.as<char>(), a.view().bytes()), 0);
}

TEST(Picture, EveryFormatRoundTrips) {
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(std::string(kind.name) + " " + std::string(name_of(kind.element)) + " " +
                 std::to_string(kind.channels));
    for (const auto& [height, width] : {std::pair{1, 1}, std::pair{37, 61}, std::pair{300, 7}}) {
      const Array pixels = made(kind.element, height, width, kind.channels);
      const auto file = encoded(kind, pixels, {.alpha = kind.alpha});
      if (!file) break;
      const Picture back = parse(*file, "back");
      EXPECT_EQ(back.alpha, kind.alpha);
      if (std::string(kind.name).find(".jp") == std::string::npos) {
        expect_same(back.pixels, pixels);
        continue;
      }
      ASSERT_EQ(back.pixels.extents(), pixels.extents());
      int largest = 0;
      for (std::int64_t i = 0; i < pixels.view().count(); ++i)
        largest =
            std::max(largest, std::abs(back.pixels.as<std::uint8_t>()[i] - pixels.as<std::uint8_t>()[i]));
      EXPECT_LE(largest, 40);
    }
  }
}

TEST(Picture, KeepsProfilesOfMatchingPixels) {
  Bytes profile(400);
  Random random(5);
  for (std::size_t i = 132; i < profile.size(); ++i) profile[i] = static_cast<std::byte>(random.below(256));
  std::memcpy(profile.data(), "\0\0\1\x90", 4);
  std::memcpy(profile.data() + 8, "\x02\x10\0\0mntrRGB XYZ ", 16);
  std::memcpy(profile.data() + 36, "acsp", 4);
  std::memcpy(profile.data() + 68, "\0\0\xf6\xd6\0\1\0\0\0\0\xd3\x2d", 12);
  for (const Kind& kind : kinds) {
    if (kind.channels != 3 || std::strchr("pj", kind.name[2]) == nullptr ||
        std::strstr(kind.name, ".pnm") != nullptr || std::strstr(kind.name, ".ppm") != nullptr ||
        std::strstr(kind.name, ".pfm") != nullptr)
      continue;
    const auto file = encoded(kind, made(kind.element, 8, 8, 3), {.profile = profile});
    if (file) {
      EXPECT_EQ(parse(*file, "back").profile, profile) << kind.name;
    }
    const auto grey = encoded(kind, made(kind.element, 8, 8, 1), {.profile = profile});
    if (grey) {
      EXPECT_TRUE(parse(*grey, "back").profile.empty()) << kind.name;
    }
  }
}

TEST(Picture, OrientationIsUndone) {
  // The upright picture is 0 1 2 / 3 4 5; each of the eight orientations stores it like this, row by row.
  const std::vector<std::pair<Extents, std::vector<int>>> stored = {
      {{2, 3}, {0, 1, 2, 3, 4, 5}}, {{2, 3}, {2, 1, 0, 5, 4, 3}}, {{2, 3}, {5, 4, 3, 2, 1, 0}},
      {{2, 3}, {3, 4, 5, 0, 1, 2}}, {{3, 2}, {0, 3, 1, 4, 2, 5}}, {{3, 2}, {2, 5, 1, 4, 0, 3}},
      {{3, 2}, {5, 2, 4, 1, 3, 0}}, {{3, 2}, {3, 0, 4, 1, 5, 2}}};
  for (int way = 1; way <= 8; ++way) {
    const auto& [extents, values] = stored[static_cast<std::size_t>(way - 1)];
    Array file(Element::u8, {extents[0], extents[1], 1});
    for (std::size_t i = 0; i < 6; ++i) file.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(values[i]);
    const Array seen = upright(file, way);
    ASSERT_EQ(seen.extents(), (Extents{2, 3, 1})) << way;
    for (int i = 0; i < 6; ++i) EXPECT_EQ(seen.as<std::uint8_t>()[i], i) << way;
  }
}

TEST(Picture, ReadsTheExifOrientationInEitherByteOrder) {
  const auto exif = [](const char* text, std::size_t size) {
    return exif_orientation({reinterpret_cast<const std::byte*>(text), size});
  };
  EXPECT_EQ(exif("II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", 26), 6);
  EXPECT_EQ(exif("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0", 26), 8);
  EXPECT_EQ(exif("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0\0\0\0\0", 26), 1);
  EXPECT_EQ(exif("MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x06\0\0\0\0", 26), 6);
  EXPECT_EQ(exif("II\x2a\0\x08\0\0\0\x01\0\x12\x01\x04\0\x01\0\0\0\x06\0\x01\0\0\0\0\0", 26), 1);
  EXPECT_EQ(exif("II\x2a\0\xff\xff\xff\xff\x01\0", 10), 1);
  EXPECT_EQ(exif("II", 2), 1);
}

TEST(Picture, ReportsUnsupportedPixelsBeforeWriting) {
  EXPECT_FALSE(cannot_hold("a.png", Element::u8, {4, 4, 3}, false));
  EXPECT_NE(cannot_hold("a.png", Element::f32, {4, 4, 3}, false).value().find("PNG holds u8, u16, not f32"),
            std::string::npos);
  EXPECT_NE(cannot_hold("a.JPG", Element::u8, {4, 4, 4}, true).value().find("no alpha"), std::string::npos);
  EXPECT_NE(cannot_hold("a.pgm", Element::u8, {4, 4, 3}, false).value().find("1 channel"), std::string::npos);
  EXPECT_TRUE(cannot_hold("a.tif", Element::u8, {4, 0, 3}, false));
  EXPECT_TRUE(cannot_hold("a.tif", Element::u8, {4, 4, 5}, false));
  EXPECT_FALSE(cannot_hold("a.jpg", Element::u8, {1, 65500, 3}, false));
  EXPECT_NE(cannot_hold("a.jpg", Element::u8, {1, 65501, 3}, false).value().find("at most 65500"),
            std::string::npos);
  EXPECT_FALSE(named_as_picture("a.npy"));
  EXPECT_TRUE(named_as_picture("a.JFIF"));
  EXPECT_FALSE(named_as_picture("a.bmp"));
  EXPECT_TRUE(is_picture_output("a.png"));
  for (const char* array : {"a.npy", "a.NPY", "a", "/dev/stdout"})
    EXPECT_FALSE(is_picture_output(array)) << array;
  for (const char* unknown : {"a.bmp", "a.txt", "b/c.webp"})
    EXPECT_THROW((void)is_picture_output(unknown), Error) << unknown;
}

void expect_refused(const std::string& text, const std::string& says, const Limits& limits = {}) {
  try {
    (void)parse(std::as_bytes(std::span(text)), "file", limits);
    ADD_FAILURE() << text.substr(0, 20);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Picture, LimitsHoldBeforeMemoryIsTaken) {
  expect_refused("P5\n100000 100000\n255\n", "more than the limit of 536870912");
  expect_refused("P5 20 20 255\n", "more than the limit of 399", {.pixels = 399});
  expect_refused("P5 20 20 255\n", "ends too early");
  expect_refused("", "is empty");
  expect_refused("GIF89a", "is no PNG, JPEG, TIFF, PGM, PPM or PFM file, but seems to be a GIF picture");
  expect_refused("P2 2 1 300 1 301", "a number from 0 to 300");
  for (const Kind& kind : kinds) {
    const auto file = encoded(kind, made(kind.element, 20, 20, kind.channels), {.alpha = kind.alpha});
    if (!file) continue;
    const std::string text(reinterpret_cast<const char*>(file->data()), file->size());
    expect_refused(text, "more than the limit of 399", {.pixels = 399});
    expect_refused(text, "more than the limit of 300 bytes", {.bytes = 300});
  }
}

// Returns a PNG file with a header, an empty IDAT and the end.
std::string bare_png(std::uint32_t width, std::uint32_t height) {
  return png_signature + png_header(width, height, 16, PngKind::rgb_alpha) + png_chunk("IDAT") +
         png_chunk("IEND");
}

// libpng allocates two rows as soon as it knows their length.
TEST(Picture, AHeaderAloneTakesNoMemory) {
  const auto kilobytes = [] {
    rusage used = {};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  const auto encodes = encoded({"a.png", Element::u8, 1}, made(Element::u8, 1, 1, 1), {});
  if (!encodes) GTEST_SKIP() << "this build does not support PNG";
  const long before = kilobytes();
  expect_refused(bare_png(0x7fffffff, 0x7fffffff), "more than the limit of 536870912");
  EXPECT_LT(kilobytes() - before, 100000);
}

TEST(Picture, DistinguishesUnsupportedFromDamagedFiles) {
  EXPECT_STREQ(unreadable("a.jpg", "JPEG", "Unsupported JPEG data precision 12").what(),
               "a.jpg: is a JPEG file of a kind that is not read here: Unsupported JPEG data precision 12");
  EXPECT_STREQ(
      unreadable("a.tif", "TIFF", "LERC compression support is not configured").what(),
      "a.tif: is a TIFF file of a kind that is not read here: LERC compression support is not configured");
}

TEST(Picture, TextSamplesAreStretchedToTheFullRange) {
  const std::string text = "P2 # made by hand\n3 1 # size\n4\n0 2 4";
  const Picture p = parse(std::as_bytes(std::span(text)), "file");
  EXPECT_EQ(p.pixels.as<std::uint8_t>()[0], 0);
  EXPECT_EQ(p.pixels.as<std::uint8_t>()[1], 128);
  EXPECT_EQ(p.pixels.as<std::uint8_t>()[2], 255);
}

TEST(Picture, ASampleAboveTheLargestValueIsAnError) {
  using namespace std::string_literals;
  const std::string small = "P5 3 1 4\n\0\2\4"s, wide = "P6 1 1 300\n\0\0\1\0\1\x2c"s;
  EXPECT_EQ(parse(std::as_bytes(std::span(small)), "file").pixels.as<std::uint8_t>()[2], 255);
  EXPECT_EQ(parse(std::as_bytes(std::span(wide)), "file").pixels.as<std::uint16_t>()[2], 65535);
  expect_refused("P5 3 1 4\n\0\2\5"s, "file: is damaged: sample 3 is 5, more than the largest value of 4");
  expect_refused("P6 1 1 300\n\0\0\1\x2d\1\x2c"s, "sample 2 is 301, more than the largest value of 300");
}

TEST(Picture, AnotherPictureBehindItIsReported) {
  using namespace std::string_literals;
  const auto several = [](const std::string& file) {
    const Picture p = parse(std::as_bytes(std::span(file)), "file");
    EXPECT_EQ(p.pixels.as<std::uint8_t>()[0], 7) << file;
    return p.first_of_several;
  };
  const std::string binary = "P5 2 1 255\n\7\10"s, plain = "P2\n2 1\n255\n7 8"s;
  for (const std::string& alone : {binary, plain, plain + "\n\n", binary + "\n", binary + "P5", plain + " 9"})
    EXPECT_FALSE(several(alone));
  for (const std::string& second : {binary, plain, "P6 1 1 255\nabc"s}) {
    EXPECT_TRUE(several(binary + second));
    EXPECT_TRUE(several(plain + "\n" + second));
  }
}

// Makes one to four changes: another byte, a truncation, a piece repeated or removed.
void corrupt(Bytes& file, Random& random) {
  for (std::uint64_t changes = 1 + random.below(4); changes-- > 0 && file.size() > 8;) {
    const std::size_t at = random.below(file.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(file.size() - at, 16));
    const auto first = file.begin() + static_cast<std::ptrdiff_t>(at),
               last = first + static_cast<std::ptrdiff_t>(length);
    switch (random.below(5)) {
      case 0:
        file.resize(at);
        break;
      case 1:
        file.erase(first, last);
        break;
      case 2: {
        const Bytes piece(first, last);
        file.insert(first, piece.begin(), piece.end());
        break;
      }
      default:
        file[random.below(2) == 0 ? at : at % 64 % file.size()] = static_cast<std::byte>(random.below(256));
    }
  }
}

TEST(Picture, DamagedFilesAreErrorsOrPictures) {
  const Limits limits{.pixels = 1 << 16, .bytes = 1 << 20};
  Random random(11);
  int refused = 0, read = 0;
  for (const Kind& kind : kinds) {
    const auto file = encoded(kind, made(kind.element, 19, 23, kind.channels), {.alpha = kind.alpha});
    if (!file) continue;
    for (int i = 0; i < 250; ++i) {
      Bytes damaged = *file;
      corrupt(damaged, random);
      try {
        const Picture p = parse(damaged, "file", limits);
        ASSERT_EQ(p.pixels.extents().size(), 3u);
        ASSERT_LE(p.pixels.view().bytes(), static_cast<std::size_t>(limits.bytes));
        ++read;
      } catch (const Error& error) {
        ASSERT_EQ(std::string(error.what()).substr(0, 6), "file: ") << error.what();
        ASSERT_EQ(error.kind(), Error::Kind::user);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 10);
}

using namespace std::string_literals;

class Png : public ::testing::Test {
 protected:
  void SetUp() override {
    const Array one(Element::u8, {1, 1, 1});
    try {
      (void)encode("a.png", one.view());
    } catch (const Error&) {
      GTEST_SKIP() << "this build does not support PNG";
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

// Changes the chunk's last byte, which belongs to the checksum.
std::string with_wrong_sum(std::string chunk) {
  chunk.back() = static_cast<char>(chunk.back() ^ 1);
  return chunk;
}

const std::string grey = png_header(2, 1, 8, PngKind::grey), grey_rows = "\0\7\11"s,
                  three_colours = png_chunk("PLTE", "\1\2\3\4\5\6\7\10\11");

TEST_F(Png, PalettesAreLookedUp) {
  const std::string eight = png_header(3, 2, 8, PngKind::palette),
                    two = png_header(5, 2, 2, PngKind::palette);
  EXPECT_EQ(values(parsed(png_file(eight, three_colours, "\0\2\1\0\0\0\0\1"s))),
            (std::vector{7, 8, 9, 4, 5, 6, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6}));
  // 2 1 0 1 2 / 0 0 1 1 2, four numbers per byte
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

TEST_F(Png, AnAnimationIsReportedAsSeveralPictures) {
  const std::string two_frames = png_chunk("acTL", "\0\0\0\2\0\0\0\0"s);
  EXPECT_FALSE(parsed(png_file(grey, "", grey_rows)).first_of_several);
  EXPECT_TRUE(parsed(png_file(grey, two_frames, grey_rows)).first_of_several);
}

// TIFF files of kinds that this library does not write, and ones that lack what their header promises.
using namespace tessera::testing;

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

// Returns nullopt if this build reads no TIFF.
std::optional<Picture> parsed(const TiffBytes& file) {
  try {
    return parse(file, "file");
  } catch (const Error& error) {
    if (std::string(error.what()).find("this build does not support") == std::string::npos) throw;
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

void expect_tiff_refused(const TiffBytes& file, const std::string& says) {
  try {
    if (parsed(file)) ADD_FAILURE() << says;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Tiff, DistinguishesUnsupportedFromDamagedFiles) {
  expect_tiff_refused(tiff_file({tiff_page(10, 2, 1, 1, 2, {bytes_of({0xa0, 0x40, 0x0f, 0xc0})})}),
                      "1-bit samples of a type that is not read here");
  expect_tiff_refused(tiff_file({tiff_page(3, 1, 8, 0, 1, {bytes_of({1, 2, 3})})}),
                      "colours (photometric 0) that are not read here");
  for (const std::uint32_t compression : {6u, 34712u}) {  // JPEG as it was before 1995; JPEG 2000
    TiffPage page = tiff_page(2, 1, 8, 1, 1, {bytes_of({0, 1})});
    for (TiffTag& tag : page.tags)
      if (tag.tag == tiff_compression) tag.values = {compression};
    expect_tiff_refused(tiff_file({page}), "file: is a TIFF file of a kind that is not read here: ");
  }
}

TEST(Tiff, ReadsTilesAndPlanes) {
  // 20 × 3 pixels of two planes in tiles of 16 × 16: four tiles, of which two extend beyond the edge.
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

TEST(Tiff, MissingDataIsAnError) {
  std::vector<int> whole(20);
  std::iota(whole.begin(), whole.end(), 0);
  expect_values(tiff_file({tiff_page(4, 5, 8, 1, 5, {rising(20)})}), whole);
  expect_tiff_refused(tiff_file({tiff_page(4, 60, 8, 1, 20, {rising(80)})}),
                      "of its 3 strips number 2 is missing");
  expect_tiff_refused(tiff_file({tiff_page(4, 60, 8, 1, 20, {rising(80), {}, rising(80)})}),
                      "number 2 is missing");
  expect_tiff_refused(tiff_file({tiff_page(4, 60, 8, 1, 60, {rising(80)})}), "ends too early");
  expect_tiff_refused(tiff_file({tiff_page(8323092, 30, 8, 1, 30, {rising(200)})}), "ends too early");
  TiffPage packed = tiff_page(30000, 15000, 8, 1, 15000, {rising(200)});
  packed.tags[3].values = {5};  // LZW
  expect_tiff_refused(tiff_file({packed}), "ends too early");
  packed.tags[3].values = {32773};  // PackBits
  expect_tiff_refused(tiff_file({packed}), "ends too early");
  TiffBytes far = tiff_file({tiff_page(4, 5, 8, 1, 5, {rising(20)})});
  for (std::size_t i = 8; i + 12 < far.size(); ++i)  // the entry of the strips' places
    if (far[i] == std::byte{0x11} && far[i + 1] == std::byte{1} && far[i + 2] == std::byte{4})
      far[i + 9] = std::byte{0x40};
  expect_tiff_refused(far, "ends too early");
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

// Views of a grid.
class Grid : public ::testing::Test {
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

  std::string folder_ = ::testing::TempDir() + "tessera_grid";
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

TEST_F(Grid, ReadsPositionsFromFileNames) {
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

TEST_F(Grid, StarsMatchWholeNumbers) {
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

TEST_F(Grid, RefusesMissingAndTruncatedNumbers) {
  put("v_0_1.pgm", 0);
  put("v_-1_1.pgm", 0);
  EXPECT_NE(said([&] { find_grid(in("v_{row}_{col}.pgm")); }).find("v_-1_1.pgm: -1 is no place in a grid"),
            std::string::npos);
  EXPECT_NE(said([&] { names_grid("v{row}{col}.pgm"); }).find("something between"), std::string::npos);
  put("w12.pgm", 0);
  put("w3x4.pgm", 0);
  EXPECT_EQ(find_grid(in("w{row}*{col}.pgm")).paths, std::vector{in("w3x4.pgm")});
}

TEST_F(Grid, ReportsMissingAndDuplicateFiles) {
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
