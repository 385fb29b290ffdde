// SPDX-License-Identifier: Apache-2.0
// The results of Genz and Malik's rule from its sums: included inside a namespace by the CPU's rule and by
// the kernels, and as text in the source for NVRTC. It includes nothing itself. REGION_FN holds the
// qualifiers of functions.

// Offsets of points, in units of half a region's width. Edge points are not part of the rule: they detect a
// jump between its far points and the face, where it has no points.
constexpr double near_offset = 0.35856858280031809199, far_offset = 0.94868329805051379960,
                 corner_offset = 0.68824720161168529772, edge_offset = 1 - 0x1p-11;

// Returns the number of points: centre; near, far, edge on both sides of each axis; pairs of axes; corners.
REGION_FN int region_points(int d) { return (1 << d) + 2 * d * d + 4 * d + 1; }

struct RegionEstimate {
  double value, error;
  double unconfirmed;  // the error if no other region's value confirms it
  double magnitude;    // the integral of |f|
  double weighed;      // the sum with |weights|, some of which are negative; rounding grows with it
  int axis;            // the axis along which f bends most
  int holes;           // points without a finite value
};

// Sums of f and |f| over each kind of points: the centre, near and far on the axes, pairs of axes, corners.
struct RegionSums {
  double value[5], size[5];
  double hidden;  // deviations of the edges from extrapolated values, added over all axes
};

REGION_FN double region_size(double x) { return x < 0 ? -x : x; }

// Computes the rule's results from its sums; `volume` of the region.
REGION_FN void region_concluded(int d, const RegionSums& sums, double volume, RegionEstimate& out) {
  const double n = d, corners = double(1 << d);
  const double seven[5] = {(12824 - 9120 * n + 400 * n * n) / 19683, 980.0 / 6561, (1820 - 400 * n) / 19683,
                           200.0 / 19683, 6859.0 / 19683 / corners};
  const double five[4] = {(729 - 950 * n + 50 * n * n) / 729, 245.0 / 486, (265 - 100 * n) / 1458,
                          25.0 / 729};
  // Values of degree 3, from the far points and from the corners.
  const double third = 5.0 / 27, by_axes = (1 - 2 * n * third) * sums.value[0] + third * sums.value[2],
               by_corners = (8 * sums.value[0] + 19 * sums.value[4] / corners) / 27;
  double value = 0, embedded = 0, magnitude = 0, weighed = 0;
  for (int k = 0; k < 5; ++k) {
    value += seven[k] * sums.value[k];
    magnitude += seven[k] * sums.size[k];
    weighed += region_size(seven[k]) * sums.size[k];
    if (k < 4) embedded += five[k] * sums.value[k];
  }
  const double last = region_size(value - embedded), of_axes = region_size(embedded - by_axes),
               of_corners = region_size(embedded - by_corners), hidden = (1 - far_offset) / 2 * sums.hidden;
  // If f is smooth, degree 7 is better than degree 5 by the ratio by which degree 5 is better than degree 3.
  const double before = of_axes < of_corners ? of_axes : of_corners, ratio = 3 * last / before;
  out.value = volume * value;
  out.error = volume * (last * (ratio < 4 ? ratio : 4) + hidden);
  const double larger = of_axes < of_corners ? of_corners : of_axes;
  out.unconfirmed = volume * ((last > larger / 8 ? last : larger / 8) + hidden);
  out.magnitude = volume * magnitude;
  out.weighed = volume * weighed;
}

// Extrapolates the even polynomial through the axis' centre, near and far points to the sum of both edges,
// and returns the deviation of `edge` from it.
REGION_FN double region_hidden(double centre, double near, double far, double edge) {
  constexpr double n = 9.0 / 70, f = 9.0 / 10, e = edge_offset * edge_offset;
  const double expected = (e - n) * (e - f) / (n * f) * 2 * centre + e * (e - f) / (n * (n - f)) * near +
                          e * (e - n) / (f * (f - n)) * far;
  return region_size(edge - expected);
}

// Returns the error that a half may report: at least a fiftieth of its parent's error, because an error that
// vanishes at once is merely undetected, and at least a quarter of the value's change if the change exceeds
// the errors of both halves.
REGION_FN double region_believed(double error, double others_error, double moved, double wholes_error) {
  double out = error > wholes_error / 50 ? error : wholes_error / 50;
  if (moved > error + others_error && out < moved / 4) out = moved / 4;
  return out;
}

// Returns the error down to which regions are halved. If cancellation makes rounding alone exceed the allowed
// error, this is the error that the same tolerance allows for the integral of |f|. The reported error gets no
// smaller than the rounding, but enough regions are sampled for the value to be trusted. If all values are 0
// except at edges, `error` replaces the integral of |f|.
REGION_FN double region_aim(double allowed, double rounding, double relative, double magnitude,
                            double error) {
  const double without_cancelling = relative * (magnitude > 0 ? magnitude : error);
  return allowed <= rounding && without_cancelling > allowed ? without_cancelling : allowed;
}
