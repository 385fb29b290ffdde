// SPDX-License-Identifier: Apache-2.0
// Rows of a picture and of its result, where more are elsewhere.
#pragma once
#include "tessera/core/arguments.hpp"

namespace tessera::resize {

struct Band {
  std::int64_t from_first = 0, from_height = 0;  // of the picture: the first that is here, of how many
  std::int64_t first = 0, height = 0;            // of the result: the first that is made, of how many
};

// The words' four numbers; all rows where there are none. Throws Error for rows that there are not.
Band band_of(const Arguments& arguments);

}  // namespace tessera::resize
