// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry. Any bytes must give either a picture within the limits, which is equal after it is
// written and read again, or an Error that names the file. The seeds, one file of every kind, are written at
// the start to the last folder named.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include "tessera/io/picture.hpp"
#include "tests/png_files.hpp"
#include "tests/tiff_files.hpp"

namespace {

using namespace tessera;

constexpr picture::Limits limits{.pixels = 1 << 16, .bytes = 1 << 20};

void require(bool holds) {
  if (!holds) std::abort();
}

Array made(Element element, std::int64_t height, std::int64_t width, std::int64_t channels) {
  Array out(element, {height, width, channels});
  auto* const bytes = out.as<unsigned char>();
  for (std::size_t i = 0; i < out.view().bytes(); ++i)
    bytes[i] = static_cast<unsigned char>((i * i * 7 + i / 5) & 0x3f);
  return out;
}

void save(const std::string& path, const std::vector<std::byte>& file) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
}

void save_ours(const std::string& folder) {
  const std::pair<const char*, std::vector<Element>> formats[] = {
      {"png", {Element::u8, Element::u16}},
      {"jpg", {Element::u8}},
      {"tif", {Element::u8, Element::u16, Element::i16, Element::f16, Element::f32}},
      {"ppm", {Element::u8, Element::u16}},
      {"pgm", {Element::u8, Element::u16}},
      {"pfm", {Element::f32}}};
  for (const auto& [ending, elements] : formats)
    for (const Element element : elements)
      for (std::int64_t channels = 1; channels <= 4; ++channels) {
        const std::string name = std::string("a.") + ending;
        const bool alpha = channels % 2 == 0;
        if (picture::cannot_hold(name, element, {5, 7, channels}, alpha)) continue;
        save(folder + "/" + ending + "_" + std::string(name_of(element)) + "_" + std::to_string(channels),
             picture::encode(name, made(element, 5, 7, channels).view(), {.alpha = alpha}));
      }
}

// Kinds of TIFF that are read and never written.
void save_tiff(const std::string& folder) {
  using namespace tessera::testing;
  const TiffBytes row(16, std::byte{0x5a}), tile(256, std::byte{9});
  const auto put = [&](const char* name, std::vector<TiffPage> pages) {
    save(folder + "/tiff_" + name, tiff_file(pages));
  };
  put("pages", {tiff_page(4, 1, 8, 1, 1, {row}), tiff_page(4, 2, 8, 1, 2, {row})});
  TiffPage tiles = tiff_page(20, 3, 8, 1, 3, {tile, tile});
  tiles.tiled = true;
  tiles.tags.back() = {tiff_tile_width, {16}};
  tiles.tags.push_back({tiff_tile_height, {16}});
  put("tiles", {tiles});
}

// Kinds of PNG that are read and never written.
void save_png(const std::string& folder) {
  const std::string palette = png_chunk("PLTE", "abcdefghi"),
                    notes = png_chunk("iCCP", std::string("n\0\0none", 7)) +
                            png_chunk("tEXt", std::string("a\0b", 3));
  const auto put = [&](const char* name, int depth, PngKind kind, const std::string& before,
                       const std::string& row) {
    const std::string file = png_file(png_header(3, 2, depth, kind), before, row + row);
    save(folder + "/png_" + name, {reinterpret_cast<const std::byte*>(file.data()),
                                   reinterpret_cast<const std::byte*>(file.data() + file.size())});
  };
  put("palette2", 2, PngKind::palette, palette + png_chunk("tRNS", "ab"), std::string("\0\x18", 2));
  put("palette8", 8, PngKind::palette, notes + palette, std::string("\0\0\2\1", 4));
  put("clear", 4, PngKind::grey, notes + png_chunk("tRNS", std::string("\0\7", 2)),
      std::string("\0\x7a\xb0", 3));
}

// Corrects checksums, because most changes of a PNG file would otherwise be refused for them.
void mend_sums(std::uint8_t* file, std::size_t size) {
  constexpr std::size_t signature = 8, beside = 12;  // length, kind and checksum
  for (std::size_t at = signature; at <= size && size - at >= beside;) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 4; ++i) bytes = bytes << 8 | file[at + i];
    if (bytes > size - at - beside) return;
    const std::string sum = png_number(png_sum({reinterpret_cast<const char*>(file) + at + 4, bytes + 4}));
    std::memcpy(file + at + beside - 4 + bytes, sum.data(), sum.size());
    at += bytes + beside;
  }
}

bool may_differ(const std::string& ending) { return ending == "jpg"; }

void check(std::span<const std::byte> file) {
  try {
    const picture::Picture read = picture::parse(file, "input", limits);
    const Array& pixels = read.pixels;
    require(pixels.extents().size() == 3 && pixels.view().bytes() <= static_cast<std::size_t>(limits.bytes));
    for (const std::string ending : {"png", "jpg", "tif", "ppm", "pfm"}) {
      const std::string name = "a." + ending;
      if (picture::cannot_hold(name, pixels.element(), pixels.extents(), read.alpha)) continue;
      const auto written =
          picture::encode(name, pixels.view(), {.alpha = read.alpha, .profile = read.profile});
      const picture::Picture again = picture::parse(written, "again");
      require(again.pixels.extents() == pixels.extents() && again.pixels.element() == pixels.element());
      if (!may_differ(ending))
        require(std::memcmp(again.pixels.as<char>(), pixels.as<char>(), pixels.view().bytes()) == 0);
    }
  } catch (const Error& error) {
    require(error.kind() == Error::Kind::user && std::string(error.what()).starts_with("input: "));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  const std::string folder = (*words)[*count - 1];
  if (folder.empty() || folder[0] == '-' || !std::filesystem::is_directory(folder)) return 0;
  save_ours(folder);
  save_tiff(folder);
  save_png(folder);
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  const bool png =
      size > png_signature.size() && std::memcmp(data, png_signature.data(), png_signature.size()) == 0;
  if (png && seed % 4 != 0) mend_sums(data, size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
