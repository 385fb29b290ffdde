// SPDX-License-Identifier: Apache-2.0
// What Genz and Malik's rule makes of its sums: included inside a namespace by the processors' rule and by the
// kernels, and as text by what NVRTC compiles. It includes nothing. REGION_FN is what functions are.

// Offsets of points, in halves of a region's width.
constexpr double near_offset = 0.35856858280031809199, far_offset = 0.94868329805051379960,
                 corner_offset = 0.68824720161168529772;

struct RegionEstimate {
  double value, error;
  double magnitude;  // the integral of |f|
  double weighed;    // with the sizes of the weights, of which some are negative: what rounding goes by
  int axis;          // along which f bends most
  int holes;         // points without a finite value
};

// Of f and of |f| over each kind of points: the centre, near and far on the axes, pairs of axes, corners.
struct RegionSums {
  double value[5], size[5];
};

REGION_FN double region_size(double x) { return x < 0 ? -x : x; }

// The rule's results from its sums; `volume` of the region.
REGION_FN void region_concluded(int d, const RegionSums& sums, double volume, RegionEstimate& out) {
  const double n = d, corners = double(1 << d);
  const double seven[5] = {(12824 - 9120 * n + 400 * n * n) / 19683, 980.0 / 6561, (1820 - 400 * n) / 19683,
                           200.0 / 19683, 6859.0 / 19683 / corners};
  const double five[4] = {(729 - 950 * n + 50 * n * n) / 729, 245.0 / 486, (265 - 100 * n) / 1458,
                          25.0 / 729};
  double value = 0, embedded = 0, magnitude = 0, weighed = 0;
  for (int k = 0; k < 5; ++k) {
    value += seven[k] * sums.value[k];
    magnitude += seven[k] * sums.size[k];
    weighed += region_size(seven[k]) * sums.size[k];
    if (k < 4) embedded += five[k] * sums.value[k];
  }
  out.value = volume * value;
  out.error = volume * region_size(value - embedded);
  out.magnitude = volume * magnitude;
  out.weighed = volume * weighed;
}

// What halves may claim whose sum is not the whole's value: not less than by how much that moved.
REGION_FN double region_believed(double error, double others_error, double moved) {
  if (moved <= error + others_error || error > moved / 4) return error;
  return moved / 4;
}
