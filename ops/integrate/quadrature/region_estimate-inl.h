// SPDX-License-Identifier: Apache-2.0
// What Genz and Malik's rule makes of its sums: included inside a namespace by the processors' rule and by
// the kernels, and as text by what NVRTC compiles. It includes nothing. REGION_FN is what functions are.

// Offsets of points, in halves of a region's width. Those on the edge are not the rule's: between far and the
// face it has no points, and would not see a jump there.
constexpr double near_offset = 0.35856858280031809199, far_offset = 0.94868329805051379960,
                 corner_offset = 0.68824720161168529772, edge_offset = 1 - 0x1p-11;

// The centre; near, far and edge on both sides of each axis; pairs of axes; corners.
REGION_FN int region_points(int d) { return (1 << d) + 2 * d * d + 4 * d + 1; }

struct RegionEstimate {
  double value, error;
  double unconfirmed;  // the error, as long as no other region's value speaks for it
  double magnitude;    // the integral of |f|
  double weighed;      // with the sizes of the weights, of which some are negative: what rounding goes by
  int axis;            // along which f bends most
  int holes;           // points without a finite value
};

// Of f and of |f| over each kind of points: the centre, near and far on the axes, pairs of axes, corners.
struct RegionSums {
  double value[5], size[5];
  double hidden;  // what the edges are off where the axes' other points lead, over all axes
};

REGION_FN double region_size(double x) { return x < 0 ? -x : x; }

// The rule's results from its sums; `volume` of the region.
REGION_FN void region_concluded(int d, const RegionSums& sums, double volume, RegionEstimate& out) {
  const double n = d, corners = double(1 << d);
  const double seven[5] = {(12824 - 9120 * n + 400 * n * n) / 19683, 980.0 / 6561, (1820 - 400 * n) / 19683,
                           200.0 / 19683, 6859.0 / 19683 / corners};
  const double five[4] = {(729 - 950 * n + 50 * n * n) / 729, 245.0 / 486, (265 - 100 * n) / 1458,
                          25.0 / 729};
  // Of degree 3, from the far points and from the corners.
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
  // Degree 5 was better than degree 3 by some ratio: where f is smooth, so is degree 7 than degree 5.
  const double before = of_axes < of_corners ? of_axes : of_corners, ratio = 3 * last / before;
  out.value = volume * value;
  out.error = volume * (last * (ratio < 4 ? ratio : 4) + hidden);
  const double larger = of_axes < of_corners ? of_corners : of_axes;
  out.unconfirmed = volume * ((last > larger / 8 ? last : larger / 8) + hidden);
  out.magnitude = volume * magnitude;
  out.weighed = volume * weighed;
}

// What the even polynomial through the axis' centre, near and far points gives for both edges together, and
// by how much these are off.
REGION_FN double region_hidden(double centre, double near, double far, double edge) {
  constexpr double n = 9.0 / 70, f = 9.0 / 10, e = edge_offset * edge_offset;
  const double expected = (e - n) * (e - f) / (n * f) * 2 * centre + e * (e - f) / (n * (n - f)) * near +
                          e * (e - n) / (f * (f - n)) * far;
  return region_size(edge - expected);
}

// What a half may claim: not less than by how much the value moved, if that is more than both halves claim,
// and no small part of what the whole claimed: an error that is gone at once is only out of sight.
REGION_FN double region_believed(double error, double others_error, double moved, double wholes_error) {
  double out = error > wholes_error / 50 ? error : wholes_error / 50;
  if (moved > error + others_error && out < moved / 4) out = moved / 4;
  return out;
}

// The error down to which regions are halved. Where so much cancels that rounding alone is more than is
// allowed, it is what the same tolerance would allow of the integral of |f|: no smaller one can be claimed,
// but what is told is no longer that of a few regions. Where all values were 0, but edges saw more, `error`
// is what is known of |f|.
REGION_FN double region_aim(double allowed, double rounding, double relative, double magnitude,
                            double error) {
  const double without_cancelling = relative * (magnitude > 0 ? magnitude : error);
  return allowed <= rounding && without_cancelling > allowed ? without_cancelling : allowed;
}
