// SPDX-License-Identifier: Apache-2.0
// What one processor makes at a time.
#pragma once
#include <cstdint>

namespace tessera::resize {

// Columns first to last, rows begin to end of the result of picture n; of each pixel so many channels.
struct Strip {
  std::int64_t n;
  int first, last, begin, end;
  int channel, channels;
  bool by_lookup;  // lookup.hpp
};

}  // namespace tessera::resize
