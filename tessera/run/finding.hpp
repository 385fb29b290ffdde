// SPDX-License-Identifier: Apache-2.0
// What was found of a part before it left the device that computed it, and what came of it.
#pragma once
#include <cstdint>
#include <vector>

namespace tessera {

struct Finding {
  enum class Mended : std::uint8_t {
    nothing,
    element,  // the one that was wrong was computed again, with those around it
    part,     // all of it was computed again
  };
  bool settled = false;  // by checksums; else it is for another check to say whether the part is right
  bool right = true;     // in the end
  std::int64_t rows = 0, cols = 0;    // of the part, that did not fit at first
  std::vector<std::int64_t> element;  // of the result, where one row and one column did not fit
  Mended mended = Mended::nothing;
  double check_seconds = 0, product_seconds = 0;

  bool was_wrong() const { return rows + cols > 0; }
};

const char* name_of(Finding::Mended mended);

}  // namespace tessera
