// SPDX-License-Identifier: Apache-2.0
// Pictures survive the way through every format, and no damaged file is more than an error.
#include "tessera/io/picture.hpp"
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <cstring>
#include <fstream>
#include "tessera/core/random.hpp"
#include "tessera/io/picture_codec.hpp"
#include "tests/png_files.hpp"

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

// Smooth with some noise: a picture that JPEG can hold, with bytes of every value.
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
    if (std::string(error.what()).find("this build knows no") == std::string::npos) throw;
    return std::nullopt;
  }
}

void expect_same(const Array& a, const Array& b) {
  ASSERT_EQ(a.extents(), b.extents());
  ASSERT_EQ(a.element(), b.element());
  EXPECT_EQ(std::memcmp(a.as<char>(), b.as<char>(), a.view().bytes()), 0);
}

TEST(Picture, EveryFormatGivesBackWhatItWasGiven) {
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

TEST(Picture, ProfilesStayWhereTheyServe) {
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
  // Upright is 2 rows of 3: 0 1 2 / 3 4 5. How the eight ways store it, row by row.
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

TEST(Picture, ExifTellsTheOrientationInEitherByteOrder) {
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

TEST(Picture, WhatAFormatLacksIsSaidBeforehand) {
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

// A PNG file of a header and nothing else but its end.
std::string bare_png(std::uint32_t width, std::uint32_t height) {
  return png_signature + png_header(width, height, 16, PngKind::rgb_alpha) + png_chunk("IDAT") +
         png_chunk("IEND");
}

// libpng takes memory for two rows as soon as it knows their length.
TEST(Picture, AHeaderAloneTakesNoMemory) {
  const auto kilobytes = [] {
    rusage used = {};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  const auto encodes = encoded({"a.png", Element::u8, 1}, made(Element::u8, 1, 1, 1), {});
  if (!encodes) GTEST_SKIP() << "this build knows no PNG";
  const long before = kilobytes();
  expect_refused(bare_png(0x7fffffff, 0x7fffffff), "more than the limit of 536870912");
  expect_refused(bare_png(1 << 28, 1), "ends too early");
  expect_refused(bare_png(1 << 28, 2), "ends too early");
  EXPECT_LT(kilobytes() - before, 100000);
}

TEST(Picture, ShortMemoryIsNoDamagedFile) {
  constexpr std::size_t beyond_any_memory = std::size_t{1} << 62;
  EXPECT_STREQ(unreadable("a.png", "PNG", "Out of memory", beyond_any_memory).what(),
               "a.png: there is not enough memory to read this PNG file: Out of memory");
  EXPECT_STREQ(unreadable("a.jpg", "JPEG", "Bogus length").what(),
               "a.jpg: is a damaged JPEG file: Bogus length");
}

TEST(Picture, AKindThatALibraryLacksIsNoDamagedFile) {
  EXPECT_STREQ(unreadable("a.jpg", "JPEG", "Unsupported JPEG data precision 12").what(),
               "a.jpg: is a JPEG file of a kind that is not read here: Unsupported JPEG data precision 12");
  EXPECT_STREQ(
      unreadable("a.tif", "TIFF", "LERC compression support is not configured").what(),
      "a.tif: is a TIFF file of a kind that is not read here: LERC compression support is not configured");
}

// A stream in a file that asks for gigabytes where its picture needs bytes.
TEST(Picture, ToAskForTooMuchMemoryIsADamagedFile) {
  EXPECT_STREQ(unreadable("a.tif", "TIFF", "cannot allocate memory", 1000).what(),
               "a.tif: is a damaged TIFF file: cannot allocate memory");
  EXPECT_STREQ(unreadable("a.png", "PNG", "Out of memory").what(),
               "a.png: is a damaged PNG file: Out of memory");
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

TEST(Picture, WhatFollowsThePictureIsReported) {
  using namespace std::string_literals;
  const auto flags = [](const std::string& file) {
    const Picture p = parse(std::as_bytes(std::span(file)), "file");
    EXPECT_EQ(p.pixels.as<std::uint8_t>()[0], 7) << file;
    return std::pair(p.first_of_several, p.bytes_behind);
  };
  const std::string binary = "P5 2 1 255\n\7\10"s, plain = "P2\n2 1\n255\n7 8"s;
  EXPECT_EQ(flags(binary), std::pair(false, false));
  EXPECT_EQ(flags(plain), std::pair(false, false));
  EXPECT_EQ(flags(plain + "\n\n"), std::pair(false, false));
  for (const std::string& second : {binary, plain, "P6 1 1 255\nabc"s}) {
    EXPECT_EQ(flags(binary + second), std::pair(true, false));
    EXPECT_EQ(flags(plain + "\n" + second), std::pair(true, false));
  }
  EXPECT_EQ(flags(binary + "\n"), std::pair(false, true));
  EXPECT_EQ(flags(binary + "P5"), std::pair(false, true));
  EXPECT_EQ(flags(plain + " 9"), std::pair(false, true));
  const std::string floats = "Pf 1 1 -1.0\n\0\0\200\77"s;
  const auto parsed = [](const std::string& file) { return parse(std::as_bytes(std::span(file)), "file"); };
  EXPECT_FALSE(parsed(floats).bytes_behind);
  EXPECT_TRUE(parsed(floats + "x").bytes_behind);
  EXPECT_TRUE(parsed(floats + floats).first_of_several);
}

// One to four changes: a byte of any value, an end too early, a piece twice or left out.
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
    for (int i = 0; i < 4000; ++i) {
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

}  // namespace
}  // namespace tessera::picture
