// SPDX-License-Identifier: Apache-2.0
// Which samples of a line each sample of the resized line is made from, and with what weights: a table for
// each axis, made once, on the host, in double precision. docs/resize.md has the formulas.
#pragma once
#include <cstdint>
#include <vector>
#include "resize_options.hpp"

namespace tessera::resize {

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

}  // namespace tessera::resize
