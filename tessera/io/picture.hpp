// SPDX-License-Identifier: Apache-2.0
// Pictures as arrays, [height,width,channels]: PNG, JPEG, TIFF, PGM, PPM and PFM files. The format is
// recognised by the first bytes when reading, and by the file name's ending when writing. A camera's EXIF
// orientation is applied to the pixels and not written again. A colour profile is passed on unchanged.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/array/array.hpp"

namespace tessera::picture {

struct Picture {
  Array pixels;  // u8, u16, i16, f16 or f32; 1 to 4 channels; an alpha channel is the last
  bool alpha = false;
  std::vector<std::byte> profile;  // ICC; empty: none
  bool first_of_several = false;   // the file has more pages, or several pictures one after another
};

// The largest picture accepted. The header is checked against these limits before anything is allocated.
struct Limits {
  std::int64_t pixels = std::int64_t{1} << 29;
  std::int64_t bytes = std::int64_t{1} << 33;  // a limit for the file and for the pixels
};

// Throws Error if a limit forbids pixels of extents [height,width,channels].
void require_within(const std::string& name, const Limits& limits, Element element, const Extents& extents);

// True if a file begins as one of these formats; false if it cannot be read.
bool begins_as_picture(const std::string& path);
// True if a name has the ending of one of these formats.
bool named_as_picture(const std::string& path);
// True if an output of that name is a picture; false for a .npy array: the name ends in .npy, has no ending,
// or is a device. Throws Error for other endings.
bool is_picture_output(const std::string& path);

// Throws Error "PATH: reason", also if this build lacks the format's library. A damaged file is an error; its
// readable part is never returned.
[[nodiscard]] Picture read(const std::string& path, const Limits& limits = {});
[[nodiscard]] Picture parse(std::span<const std::byte> file, const std::string& name,
                            const Limits& limits = {});

struct Style {
  bool alpha = false;                       // the last channel is alpha
  std::span<const std::byte> profile = {};  // left out if it does not fit the number of channels
  int quality = 95;                         // JPEG only
  std::optional<int> png_level = {};        // zlib's, 0 to 9, with filters fitted to each row; nothing: fast
};

// Returns the reason why a file of this name cannot hold such pixels; std::nullopt: it can.
[[nodiscard]] std::optional<std::string> cannot_hold(const std::string& path, Element element,
                                                     const Extents& extents, bool alpha);
// Writes [height,width,channels] from host memory, completely or not at all.
void write(const std::string& path, const ArrayView& pixels, const Style& style = {});
[[nodiscard]] std::vector<std::byte> encode(const std::string& path, const ArrayView& pixels,
                                            const Style& style = {});

// Pictures of one scene from the positions of a grid, as one array [rows,cols,height,width,channels]: from
// files whose names give the position, or from one picture that holds them side by side.
struct GridFiles {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::string> paths;  // row after row
};

// True if a name has {row} and {col} in it.
bool names_grid(const std::string& pattern);

// Finds the files of a pattern such as "views/*_{row}_{col}.png". {row} and {col} match numbers of up to 18
// digits, not counting leading zeros; * and ? are shell wildcards. The smallest number is the first row or
// column. Throws Error for positions with no file or two, and for longer and negative numbers.
GridFiles find_grid(const std::string& pattern);

// Alpha is a channel, or left out. The profile is that of the first view; first_of_several is set if any
// view's file has several pictures. Throws Error that names the file whose size, channels or type differ.
Picture read_grid(const GridFiles& files, bool drop_alpha, const Limits& limits = {});

// Cuts a picture into views. `tiles`: "17x17" means 17 rows of 17 views.
Picture cut_tiles(const Picture& whole, const std::string& tiles, const std::string& name);

}  // namespace tessera::picture
