// SPDX-License-Identifier: Apache-2.0
// TIFF files laid down by hand: kinds that nobody here writes, and ones that say what they do not hold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::testing {

using TiffBytes = std::vector<std::byte>;

struct TiffTag {
  std::uint16_t tag = 0;
  std::vector<std::uint32_t> values = {};
  bool shorts = false;
};

enum : std::uint16_t {
  tiff_width = 256,
  tiff_height = 257,
  tiff_bits = 258,
  tiff_compression = 259,
  tiff_photometric = 262,
  tiff_offsets = 273,
  tiff_samples = 277,
  tiff_rows_per_strip = 278,
  tiff_counts = 279,
  tiff_planes = 284,
  tiff_tile_width = 322,
  tiff_tile_height = 323,
  tiff_tile_offsets = 324,
  tiff_tile_counts = 325,
};

inline void put_number(TiffBytes& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> 8 * i & 255));
}

// Little-endian. Each page: tags in rising order, those of the blocks' places left out; then the blocks.
struct TiffPage {
  std::vector<TiffTag> tags;
  std::vector<TiffBytes> blocks;
  bool tiled = false;
};

inline TiffBytes tiff_file(const std::vector<TiffPage>& pages) {
  TiffBytes out;
  for (const char c : {'I', 'I', '\x2a', '\0'}) out.push_back(static_cast<std::byte>(c));
  std::size_t link = out.size();
  put_number(out, 0, 4);
  const auto overwrite = [&out](std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<std::byte>(value >> 8 * i & 255);
  };
  for (const TiffPage& page : pages) {
    TiffTag places{page.tiled ? tiff_tile_offsets : tiff_offsets},
        counts{page.tiled ? tiff_tile_counts : tiff_counts};
    for (const TiffBytes& block : page.blocks) {
      places.values.push_back(static_cast<std::uint32_t>(out.size()));
      counts.values.push_back(static_cast<std::uint32_t>(block.size()));
      out.insert(out.end(), block.begin(), block.end());
    }
    std::vector<TiffTag> tags = page.tags;
    for (const TiffTag& tag : {places, counts}) {
      auto at = tags.begin();
      while (at != tags.end() && at->tag < tag.tag) ++at;
      tags.insert(at, tag);
    }
    std::vector<std::size_t> lists;
    for (const TiffTag& tag : tags) {
      if (out.size() % 2 != 0) out.push_back({});
      lists.push_back(out.size());
      const int size = tag.shorts ? 2 : 4;
      if (tag.values.size() * static_cast<std::size_t>(size) > 4)
        for (const std::uint32_t value : tag.values) put_number(out, value, size);
    }
    if (out.size() % 2 != 0) out.push_back({});
    overwrite(link, out.size());
    put_number(out, tags.size(), 2);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const TiffTag& tag = tags[i];
      const int size = tag.shorts ? 2 : 4;
      put_number(out, tag.tag, 2);
      put_number(out, tag.shorts ? 3 : 4, 2);
      put_number(out, tag.values.size(), 4);
      const std::size_t end = out.size() + 4;
      if (tag.values.size() * static_cast<std::size_t>(size) > 4) put_number(out, lists[i], 4);
      else
        for (const std::uint32_t value : tag.values) put_number(out, value, size);
      out.resize(end);
    }
    link = out.size();
    put_number(out, 0, 4);
  }
  return out;
}

// A page of one channel, uncompressed.
inline TiffPage tiff_page(std::uint32_t width, std::uint32_t height, std::uint32_t bits,
                          std::uint32_t photometric, std::uint32_t rows_per_strip,
                          std::vector<TiffBytes> strips) {
  return {{{tiff_width, {width}},
           {tiff_height, {height}},
           {tiff_bits, {bits}, true},
           {tiff_compression, {1}, true},
           {tiff_photometric, {photometric}, true},
           {tiff_samples, {1}, true},
           {tiff_rows_per_strip, {rows_per_strip}}},
          std::move(strips)};
}

}  // namespace tessera::testing
