// SPDX-License-Identifier: Apache-2.0
#include "tessera/io/file_kind.hpp"
#include <gtest/gtest.h>
#include <string_view>

namespace tessera {
namespace {

using namespace std::string_view_literals;

std::string kind(std::string_view text) { return kind_of(std::as_bytes(std::span(text))); }

TEST(FileKind, IsRecognisedByTheFirstBytes) {
  EXPECT_EQ(kind("%PDF-1.7\n%\xe2\xe3"), "a PDF document");
  EXPECT_EQ(kind("GIF89a\x01\0"sv), "a GIF picture");
  EXPECT_EQ(kind("RIFF\x24\0\0\0WEBPVP8 "sv), "a WebP picture");
  EXPECT_EQ(kind("\0\0\0\x20"
                 "ftypheic\0\0"sv),
            "a HEIC picture");
  EXPECT_EQ(kind("\0\0\0\x20"
                 "ftypisom\0\0"sv),
            "a video (MP4)");
  EXPECT_EQ(kind("BM\x36\0\0\0\0\0\0\0\x36\0"sv), "a BMP picture");
  EXPECT_EQ(kind("PK\x03\x04\x14\0"sv), "a ZIP archive");
  EXPECT_EQ(kind("\x7f"
                 "ELF\x02\x01"),
            "a program");
}

TEST(FileKind, TextIsDistinguishedFromBytes) {
  EXPECT_EQ(kind(""), "empty");
  EXPECT_EQ(kind("BM is how this text begins"), "text");
  EXPECT_EQ(kind("Gr\xc3\xbc\xc3\x9f"
                 "e,\t1.5\r\n"),
            "text");
  EXPECT_EQ(kind("\xef\xbb\xbf\n<!DOCTYPE HTML><p>"), "a web page (HTML)");
  EXPECT_EQ(kind("<?xml version=\"1.0\"?>\n<svg width=\"3\">"), "a drawing (SVG)");
  EXPECT_EQ(kind("<?xml version=\"1.0\"?>\n<list/>"), "text (XML)");
  EXPECT_EQ(kind("\x01\x02 who knows"), "");
}

TEST(FileKind, WhatCannotBeReadHasNoBeginning) {
  EXPECT_FALSE(beginning_of("/nowhere/to/be/found"));
  EXPECT_FALSE(beginning_of("/")) << "a folder";
  EXPECT_FALSE(beginning_of("/dev/zero")) << "a device goes on for ever";
  ASSERT_TRUE(beginning_of("/proc/self/exe"));
  EXPECT_EQ(kind_of(*beginning_of("/proc/self/exe")), "a program");
}

}  // namespace
}  // namespace tessera
