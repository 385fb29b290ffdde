// SPDX-License-Identifier: Apache-2.0
// The options of a call, by the names that libraries use, and their valid combinations; and the taps of an
// axis, the source samples of each sample of the result with their weights, computed once on the host in
// double precision. docs/resize.md has the formulas.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "tessera/core/operation/arguments.hpp"

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

// The options of a call, besides the sizes.
struct Options {
  Convention convention = Convention::pillow;
  Method method = Method::cubic;
  double cubic_a = -0.5;
  Coordinate coordinate = Coordinate::half_pixel;  // onnx
  Nearest nearest = Nearest::round_prefer_floor;   // onnx
  bool antialias = false;                          // onnx
  bool exclude_outside = false;                    // onnx
  bool picks() const { return method == Method::nearest || method == Method::nearest_exact; }
  double one =
      0;  // OpenCV's bytes: weights are rounded to multiples of 1/one before any are added up; 0: not rounded
};

// Throws Error for unknown names and for options that the convention does not have.
Options options_of(const Arguments& arguments);
// Returns a side times the scale, rounded to nearest, halves up.
std::int64_t scaled(std::int64_t side, const std::string& scale);
Method method_named(const std::string& word, Convention convention);

// The rows of a picture and of its result in this call; other devices or calls have the rest.
struct Band {
  std::int64_t from_first = 0, from_height = 0;  // picture: the first row given, rows in all
  std::int64_t first = 0, height = 0;            // result: the first row computed, rows in all
};

// Returns the four numbers of --band; all rows without it. Throws Error for rows out of range.
Band band_of(const Arguments& arguments);

// Sample i of the result depends on the samples start[i] … start[i] + count[i] − 1.
struct Axis {
  int source = 1, result = 1;
  int most = 1;  // the largest number of taps; weights are padded to it
  std::vector<std::int32_t> start, count;
  std::vector<double> weight;  // `most` per sample of the result; empty: copies or equal weights

  void set_taps(std::int64_t i, std::int64_t first, std::int64_t taps) {
    start[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first);
    count[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(taps);
  }
  double* weights(int i) { return weight.data() + std::size_t(i) * std::size_t(most); }
  const double* weights(int i) const { return weight.data() + std::size_t(i) * std::size_t(most); }
};

// OpenCV's area has its own rule for enlarging.
enum class Area { overlap, enlarging };

Axis nearest_axis(const Options& options, int source, int result);
// Returns weights before the convention rounds them to integers; OpenCV's are already rounded to floats.
Axis weighted_axis(const Options& options, int source, int result, Area area);
// Returns two taps, one of which may be clipped: start and count cover the samples inside, and both weights
// are always stored. `clamped`: beyond the edge, the edge sample has the whole weight.
Axis opencv_linear_axis(int source, int result, bool clamped, Area area);
// Returns the two taps of OpenCV's bit-exact method: weights are multiples of 1/256.
Axis opencv_exact_linear_axis(int source, int result);
// Returns source / result consecutive taps of equal weight for each sample.
Axis even_axis(int source, int result);

}  // namespace tessera::resizing
