// SPDX-License-Identifier: Apache-2.0
// What lies outside a picture. An axis of "abcd" goes on as
//   constant cc|abcd|cc   replicate aa|abcd|dd   reflect ba|abcd|dc   reflect_101 cb|abcd|cb
//   wrap cd|abcd|ab
// and is folded as often as it takes, so that pictures smaller than the kernel are no exception.
#pragma once
#include <string>
#include "tessera/core/thread.hpp"

namespace tessera::imaging {

enum class Border : int { constant, replicate, reflect, reflect_101, wrap };

// By this name, or by what OpenCV, SciPy, NumPy and NPP call it. Throws Error that names --border.
Border border_named(const std::string& word);

inline namespace TESSERA_UNIT {

inline constexpr int from_constant = -1;

// Where place i of an axis of n pixels is found. Mirrors are an even function with a period.
SIMT int border_index(int i, int n, Border border) {
  if (i >= 0 && i < n) return i;
  if (border == Border::constant) return from_constant;
  if (border == Border::replicate) return i < 0 ? 0 : n - 1;
  if (border == Border::wrap) {
    const int rest = i % n;
    return rest < 0 ? rest + n : rest;
  }
  const bool twice = border == Border::reflect;  // the pixel at the edge is seen twice
  const int period = twice ? 2 * n : 2 * n - 2;
  if (period == 0) return 0;
  int rest = (twice && i < 0 ? -1 - i : i < 0 ? -i : i) % period;
  if (rest >= n) rest = twice ? period - 1 - rest : period - rest;
  return rest;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::imaging
