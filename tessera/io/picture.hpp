// SPDX-License-Identifier: Apache-2.0
// Pictures as arrays, [height,width,channels]: PNG, JPEG, TIFF, PGM, PPM and PFM files. A file is told by its
// first bytes when it is read, and by its ending when it is written. Pixels come upright: the orientation
// that a camera notes is applied and not written again. A colour profile is handed on as it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/array.hpp"

namespace tessera::picture {

struct Picture {
  Array pixels;  // u8, u16, i16, f16 or f32; 1 to 4 channels; an alpha channel is the last
  bool alpha = false;
  std::vector<std::byte> profile;  // ICC; empty: none
  bool first_of_several = false;   // the file has more pages, or more pictures one after another
};

// What a file may ask for at most. Its header is held against them before anything is allocated.
struct Limits {
  std::int64_t pixels = std::int64_t{1} << 29;
  std::int64_t bytes = std::int64_t{1} << 33;  // of the file, and of the pixels
};

// Throws Error where a limit forbids pixels of extents [height,width,channels].
void demand_within(const std::string& name, const Limits& limits, Element element, const Extents& extents);

// Whether a file begins as one of these does; false where it cannot be read.
bool begins_as_picture(const std::string& path);
// Whether a name ends as one of these does.
bool named_as_picture(const std::string& path);
// Whether an output of that name is a picture; else it is a .npy array: where the name ends so, has no
// ending, or is a device. Throws Error for other endings.
bool is_picture_output(const std::string& path);

// Throws Error "PATH: reason", also where this build lacks the format's library. A damaged file is an error,
// never half a picture.
[[nodiscard]] Picture read(const std::string& path, const Limits& limits = {});
[[nodiscard]] Picture parse(std::span<const std::byte> file, const std::string& name,
                            const Limits& limits = {});

struct Style {
  bool alpha = false;                       // the last channel is alpha
  std::span<const std::byte> profile = {};  // left out where it is for pictures of another kind
  int quality = 95;                         // of JPEG
};

// Why a file of this name cannot hold such pixels; nothing: it can.
[[nodiscard]] std::optional<std::string> cannot_hold(const std::string& path, Element element,
                                                     const Extents& extents, bool alpha);
// [height,width,channels], in host memory. Whole or not at all.
void write(const std::string& path, const ArrayView& pixels, const Style& style = {});
[[nodiscard]] std::vector<std::byte> encode(const std::string& path, const ArrayView& pixels,
                                            const Style& style = {});

// Pictures of one scene from the places of a grid, as one array [rows,cols,height,width,channels]: from files
// whose names say the place, or from one picture in which they lie side by side.
struct GridFiles {
  std::int64_t rows = 0, cols = 0;
  std::vector<std::string> paths;  // row after row
};

// Whether a name has {row} and {col} in it.
bool names_grid(const std::string& pattern);

// "views/*_{row}_{col}.png": {row} and {col} stand for numbers of up to 18 digits, zeros in front aside; *
// and ? as a shell has them. The least number is the first row, and each must be there up to the largest.
// Throws Error for places that have no file or two, and for longer and negative numbers.
GridFiles find_grid(const std::string& pattern);

// Alpha is a channel, or left out; the profile is the first view's, and whether a file has several pictures
// is told of any. Throws Error that names the file that differs from the first.
Picture read_grid(const GridFiles& files, bool drop_alpha, const Limits& limits = {});

// "17x17" of the pixels of one picture.
Picture cut_tiles(const Picture& whole, const std::string& tiles, const std::string& name);

}  // namespace tessera::picture
