// SPDX-License-Identifier: Apache-2.0
// The options of a call: what libraries call their ways to resize, and which of them go together.
#pragma once
#include <cstdint>
#include <string>
#include "tessera/core/arguments.hpp"

namespace tessera::resize {

inline constexpr std::int64_t longest_side = 1 << 24;

enum class Convention { opencv, pillow, onnx };
enum class Method {
  nearest,
  nearest_exact,
  linear,
  linear_exact,
  cubic,
  lanczos2,
  lanczos3,
  lanczos4,
  area,
  box,
  hamming
};
enum class Coordinate { half_pixel, pytorch_half_pixel, align_corners, asymmetric };
enum class Nearest { round_prefer_floor, round_prefer_ceil, floor, ceil };

// What a call asks for, besides the sizes.
struct Options {
  Convention convention = Convention::pillow;
  Method method = Method::cubic;
  double cubic_a = -0.5;
  Coordinate coordinate = Coordinate::half_pixel;  // onnx
  Nearest nearest = Nearest::round_prefer_floor;   // onnx
  bool antialias = false;                          // onnx
  bool exclude_outside = false;                    // onnx
  double one =
      0;  // OpenCV's bytes: weights are whole parts of so many, before any are added up; 0: they are not
};

// Throws Error for names that are unknown and for options that a convention does not have.
Options options_of(const Arguments& arguments);
// That many times a side, to the nearest, halves up.
std::int64_t scaled(std::int64_t side, const std::string& scale);
Method method_named(const std::string& word, Convention convention);

// Rows of a picture and of its result, where other devices or calls have the rest.
struct Band {
  std::int64_t from_first = 0, from_height = 0;  // of the picture: the first that is here, of how many
  std::int64_t first = 0, height = 0;            // of the result: the first that is made, of how many
};

// The four numbers of --band; all rows without it. Throws Error for rows that there are not.
Band band_of(const Arguments& arguments);

}  // namespace tessera::resize
