// SPDX-License-Identifier: Apache-2.0
// Pictures of one scene from the places of a grid, as one array [rows,cols,height,width,channels]: from files
// whose names say the place, or from one picture in which they lie side by side.
#pragma once
#include "tessera/io/picture.hpp"

namespace tessera::picture {

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

// Alpha is a channel, or left out; the profile is the first view's, and what follows a picture in its file is
// told where it does so in any. Throws Error that names the file that differs from the first.
Picture read_grid(const GridFiles& files, bool drop_alpha, const Limits& limits = {});

// "17x17" of the pixels of one picture.
Picture cut_tiles(const Picture& whole, const std::string& tiles, const std::string& name);

}  // namespace tessera::picture
