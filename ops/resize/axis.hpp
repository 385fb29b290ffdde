// SPDX-License-Identifier: Apache-2.0
// The options of a call: what libraries call their ways to resize, and which of them go together. And which
// samples of a line each sample of the resized line is made from, with what weights: a table for each axis,
// made once, on the host, in double precision. docs/resize.md has the formulas.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "tessera/core/arguments.hpp"

namespace tessera::resizing {

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

// Result i is made from the samples start[i] … start[i] + count[i] − 1.
struct Axis {
  int source = 1, result = 1;
  int most = 1;  // taps of one result; each has room for as many
  std::vector<std::int32_t> start, count;
  std::vector<double> weight;  // `most` for each result; none where samples are picked or weigh the same

  double* weights(int i) { return weight.data() + std::size_t(i) * std::size_t(most); }
  const double* weights(int i) const { return weight.data() + std::size_t(i) * std::size_t(most); }
};

// Neighbours enlarged by OpenCV's area follow a rule of their own.
enum class Area { overlap, enlarging };

Axis nearest_axis(const Options& options, int source, int result);
// Weights as the convention has them before it rounds them to integers: OpenCV's are floats already.
Axis weighted_axis(const Options& options, int source, int result, Area area);
// Two taps, one of them perhaps outside and clipped: start and count say which lines, both weights are always
// there. `clamped`: beyond the edge the whole weight is the edge's.
Axis opencv_linear_axis(int source, int result, bool clamped, Area area);
// The same for OpenCV's bit-exact method: weights are whole 256ths.
Axis opencv_exact_linear_axis(int source, int result);
// `factor` samples after another, of one weight.
Axis even_axis(int source, int result);

}  // namespace tessera::resizing
