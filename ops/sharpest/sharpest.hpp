// SPDX-License-Identifier: Apache-2.0
// Finds the sharpest plane of a focal stack at every pixel, and returns the picture that is sharp everywhere
// or the planes' numbers. The measure is an integer, so every device finds the same plane.
#pragma once
#include <cstdint>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::sharpest {

inline constexpr int max_radius = 31;

inline namespace TESSERA_UNIT {

template <class T>
struct Problem {
  using Elements = Types<std::uint8_t, std::uint16_t>;

  View<const T, 4> stack;  // [planes,height,width,channels]
  View<unsigned char, 4>
      found;       // [1,height,width,channels or 1] of T, or of u16 for depths; strides in elements
  int radius = 2;  // pixels of the window on each side
  bool depth = false;
  int step = 0;  // difference in depth from plane to plane

  SIMT int planes() const { return static_cast<int>(stack.extent[0]); }
  SIMT int height() const { return static_cast<int>(stack.extent[1]); }
  SIMT int width() const { return static_cast<int>(stack.extent[2]); }
  SIMT int channels() const { return static_cast<int>(stack.extent[3]); }

  // Returns 2·here − left − right| + |2·here − above − below|, summed over channels; the border is
  // replicated.
  SIMT std::uint64_t edge(int plane, int y, int x) const {
    const int left = x > 0 ? x - 1 : 0, right = x + 1 < width() ? x + 1 : x;
    const int above = y > 0 ? y - 1 : 0, below = y + 1 < height() ? y + 1 : y;
    std::uint64_t sum = 0;
    for (int c = 0; c < channels(); ++c) {
      const std::int32_t here = 2 * std::int32_t{stack(plane, y, x, c)};
      const std::int32_t along = here - stack(plane, y, left, c) - stack(plane, y, right, c);
      const std::int32_t down = here - stack(plane, above, x, c) - stack(plane, below, x, c);
      sum += static_cast<std::uint64_t>(along < 0 ? -along : along) +
             static_cast<std::uint64_t>(down < 0 ? -down : down);
    }
    return sum;
  }

  // Returns the sum of the edges in the window around a pixel, clipped to the picture.
  SIMT std::uint64_t measure(int plane, int y, int x) const {
    std::uint64_t sum = 0;
    for (int i = y > radius ? y - radius : 0; i <= y + radius && i < height(); ++i)
      for (int j = x > radius ? x - radius : 0; j <= x + radius && j < width(); ++j) sum += edge(plane, i, j);
    return sum;
  }

  // Stores the pixel of `plane`, or its depth.
  SIMT void store(int y, int x, int plane) const {
    const std::int64_t at = y * found.stride[1] + x * found.stride[2];
    if (depth) {
      reinterpret_cast<std::uint16_t*>(found.data)[at] = static_cast<std::uint16_t>(plane * step);
      return;
    }
    for (int c = 0; c < channels(); ++c)
      reinterpret_cast<T*>(found.data)[at + c * found.stride[3]] = stack(plane, y, x, c);
  }

  SIMT void compute(int y, int x) const {
    int best = 0;
    std::uint64_t most = 0;
    for (int plane = 0; plane < planes(); ++plane)
      if (const std::uint64_t here = measure(plane, y, x); here > most) most = here, best = plane;
    store(y, x, best);
  }

  static Problem of(const Arguments& arguments) {
    Problem p;
    p.stack = arguments.view<const T, 4>("stack");
    const ArrayView& out = arguments.array("found");
    p.found.data = static_cast<unsigned char*>(out.data);
    for (std::size_t d = 0; d < 4; ++d) {
      p.found.extent[d] = out.extents[d];
      p.found.stride[d] = out.strides[d];
    }
    p.radius = static_cast<int>(arguments.integer("radius"));
    p.depth = arguments.text("give") == "depth";
    constexpr int most = 65535;
    if (p.planes() < 1 || p.planes() > most)
      throw Error("stack has " + std::to_string(arguments.dim("planes")) +
                  " planes; 1 to 65535 there may be");
    p.step = p.planes() == 1 ? 0 : most / (p.planes() - 1);
    return p;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::sharpest
